#include "core/compare/figures/uptime.hpp"

#include <algorithm>
#include <limits>

namespace ctprof {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::vector<double> uptimes(const Rollup& rollup, const Grouping& grouping) {
  const std::size_t last = rollup.sides() - 1, count = grouping.names.size();
  std::vector<double> lifetimes(count, kNone);
  if (!rollup.run(last).knows_starts()) return lifetimes;
  double newest = 0, longest = 0;
  for (std::uint32_t group = 0; group < count; ++group)
    if (const GroupTimes* times = rollup.times(last, group))
      newest = std::max(newest, times->newest);
  for (std::uint32_t group = 0; group < count; ++group) {
    const GroupTimes* times = rollup.times(last, group);
    if (!times) continue;
    lifetimes[group] = newest - times->starts / times->threads_started;  // NaN where none is known
    if (grouping.has(0, group) && lifetimes[group] > longest) longest = lifetimes[group];
  }
  for (double& lifetime : lifetimes) lifetime /= longest;  // NaN where all began at once
  return lifetimes;
}

}  // namespace ctprof
