#include "core/compare/grouping/process_trees.hpp"

#include <string_view>

#include "core/compare/grouping/key_families.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kInit = 1;
constexpr std::size_t kMostDepth = 256;  // a malicious file can contain cycles

}  // namespace

ProcessTrees::ProcessTrees(const Snapshot& snapshot, const ProcessTrees* rest)
    : snapshot_(&snapshot),
      rest_(rest),
      tgids_(numbers(snapshot.threads(), kTgid)),
      parents_(numbers(snapshot.threads(), kParent)),
      parent_(snapshot.threads().find(kParent)),
      names_(thread_column(snapshot, kPcomm, Storage::String)),
      cgroups_(thread_column(snapshot, kCgroup, Storage::String)) {
  const auto tids = numbers(snapshot.threads(), kTid);
  for (std::size_t row = 0; row < tgids_.size(); ++row) {
    const auto [known, is_new] = row_of_.try_emplace(tgids_[row], row);
    if (!is_new && row < tids.size() && tids[row] == tgids_[row]) known->second = row;
  }
}

std::string_view ProcessTrees::text(const Column* column, std::size_t row) const {
  return column && column->has_value(row) ? snapshot_->pools->texts[column->ids()[row]]
                                          : std::string_view{};
}

// A missing cgroup counts as equal to any other.
bool ProcessTrees::in_one_cgroup(const Place& a, const Place& b) {
  const std::string_view one = a.trees->text(a.trees->cgroups_, a.row),
                         other = b.trees->text(b.trees->cgroups_, b.row);
  return one.empty() || other.empty() || one == other;
}

std::optional<ProcessTrees::Place> ProcessTrees::find(std::uint64_t tgid) const {
  if (const auto known = row_of_.find(tgid); known != row_of_.end())
    return Place{this, known->second};
  return rest_ ? rest_->find(tgid) : std::nullopt;
}

std::optional<ProcessTrees::Place> ProcessTrees::parent_of(std::size_t row) const {
  const bool has_parent = row < parents_.size() && parent_->has_value(row);
  return has_parent && parents_[row] > kInit ? find(parents_[row]) : std::nullopt;
}

std::string ProcessTrees::tree_of(std::size_t row) const {
  Place at{this, row};
  for (std::size_t depth = 0; depth < kMostDepth; ++depth) {
    const auto above = at.trees->parent_of(at.row);
    if (!above || !in_one_cgroup(*above, at)) break;
    at = *above;
  }
  const ProcessTrees& trees = *at.trees;
  return std::string(trees.text(trees.names_, at.row)) + "[" +
         std::to_string(trees.tgids_[at.row]) + "]";
}

std::string_view ProcessTrees::of_thread(std::size_t row) {
  if (row >= tgids_.size()) return {};
  const std::size_t first = row_of_.at(tgids_[row]);
  std::string& tree = tree_of_[first];
  if (tree.empty()) tree = tree_of(first);
  return tree;
}

}  // namespace ctprof
