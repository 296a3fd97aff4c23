#include "core/file/layout/code_runs.hpp"

#include <utility>

namespace ctprof {

std::string_view CodeRuns::bytes_of(const Runs& runs) {
  return {reinterpret_cast<const char*>(runs.data()), runs.size() * sizeof runs[0]};
}

void CodeRuns::add(Runs runs, const Column& column) {
  const std::size_t hash = SeededHash()(bytes_of(runs));
  for (auto [at, end] = numbers_.equal_range(hash); at != end; ++at) {
    Group& group = groups_[at->second];
    ++comparisons_;
    if (group.runs == runs) return group.columns.push_back(&column);
  }
  numbers_.emplace(hash, groups_.size());
  groups_.push_back({std::move(runs), {&column}});
}

}  // namespace ctprof
