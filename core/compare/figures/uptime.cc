#include "core/compare/figures/uptime.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

// The mean of a group's starts; NaN for none. `newest` becomes the latest of all.
std::vector<double> mean_starts(const Column& column, const std::vector<std::uint32_t>& groups,
                                std::size_t count, double& newest) {
  std::vector<double> sums(count), threads(count);
  const auto starts = column.u64();
  for (std::size_t row = 0; row < groups.size(); ++row) {
    if (groups[row] == kNoGroup || !column.has_value(row)) continue;
    const auto start = static_cast<double>(starts[row]);
    sums[groups[row]] += start;
    ++threads[groups[row]];
    newest = std::max(newest, start);
  }
  for (std::size_t group = 0; group < count; ++group)
    sums[group] /= threads[group];  // NaN where there are none
  return sums;
}

}  // namespace

std::vector<double> uptimes(std::span<const Snapshot* const> sides, const Grouping& grouping) {
  const std::size_t last = sides.size() - 1, count = grouping.names.size();
  const Column* column = sides[last]->threads().find(kStartTime);
  if (!column || column->def().storage != Storage::U64)
    return std::vector<double>(count, std::numeric_limits<double>::quiet_NaN());
  double newest = 0, longest = 0;
  auto lifetimes =
      mean_starts(*column, grouping.sides[last].of_row[static_cast<std::size_t>(Entity::Thread)],
                  count, newest);
  for (std::uint32_t group = 0; group < count; ++group) {
    lifetimes[group] = newest - lifetimes[group];
    if (grouping.has(0, group) && lifetimes[group] > longest) longest = lifetimes[group];
  }
  for (double& lifetime : lifetimes) lifetime /= longest;  // NaN where all began at once
  return lifetimes;
}

}  // namespace ctprof
