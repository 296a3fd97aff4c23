#include "core/compare/figures/left_out.hpp"

#include <algorithm>
#include <set>

#include "core/base/text.hpp"

namespace ctprof {
namespace {

// A capture of ctprof has fewer names; the limit bounds the work that another file can cause.
constexpr std::size_t kMostNames = 64;

std::span<const std::string> names_in(const Meta& meta) {
  return std::span(meta.left_out).first(std::min(kMostNames, meta.left_out.size()));
}

bool has_column(const Snapshot& run, const std::string& metric) {
  return std::ranges::any_of(run.tables,
                             [&](const Table& table) { return table.find(metric) != nullptr; });
}

}  // namespace

bool is_left_out(const Meta& meta, const std::string& metric) {
  const auto names = names_in(meta);
  return std::ranges::find(names, metric) != names.end();
}

std::vector<std::string> left_out_of_all(std::span<const Snapshot* const> runs) {
  std::set<std::string> names;
  for (const Snapshot* run : runs)
    for (const std::string& name : names_in(run->meta)) names.insert(name);
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::any_of(runs, [&](const Snapshot* run) { return has_column(*run, name); });
  });
  return {names.begin(), names.end()};
}

std::string left_out_in_words(const std::vector<std::string>& metrics) {
  if (metrics.empty()) return {};
  return "not recorded, because expensive to read: " + joined(metrics) + " (" + kHowToReadCostly +
         ")";
}

}  // namespace ctprof
