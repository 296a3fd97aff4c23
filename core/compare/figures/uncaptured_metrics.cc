#include "core/compare/figures/uncaptured_metrics.hpp"

#include <algorithm>
#include <set>

#include "core/base/text.hpp"

namespace ctprof {
namespace {

// A capture of ctprof has fewer names; the limit bounds the work that another file can cause.
constexpr std::size_t kMaxNames = 64;

std::span<const std::string> uncaptured_names(const Meta& meta) {
  return std::span(meta.uncaptured_metrics)
      .first(std::min(kMaxNames, meta.uncaptured_metrics.size()));
}

bool has_column(const Snapshot& run, const std::string& metric) {
  return std::ranges::any_of(run.tables,
                             [&](const Table& table) { return table.find(metric) != nullptr; });
}

}  // namespace

bool is_not_captured(const Meta& meta, const std::string& metric) {
  const auto names = uncaptured_names(meta);
  return std::ranges::find(names, metric) != names.end();
}

std::vector<std::string> find_uncaptured_metrics(std::span<const Snapshot* const> runs) {
  std::set<std::string> names;
  for (const Snapshot* run : runs)
    for (const std::string& name : uncaptured_names(run->meta)) names.insert(name);
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::any_of(runs, [&](const Snapshot* run) { return has_column(*run, name); });
  });
  return {names.begin(), names.end()};
}

std::string describe_uncaptured_metrics(const std::vector<std::string>& metrics) {
  if (metrics.empty()) return {};
  return "not recorded, because expensive to read: " + join_texts(metrics) + " (" +
         kHowToReadExpensive + ")";
}

}  // namespace ctprof
