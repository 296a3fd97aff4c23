// Combines the recorded values of consecutive windows: stacks, numbers and histograms.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Combines the values of `more`, in other pools, with those of `column`: value n with that of row
// rows[n]; kNoRow: none. Returns the sum of the values that count up and have no row.
std::uint64_t add_recorded_values(Column& column, Pools& pools, const Column& more,
                                  const Pools& pools_of_more, std::span<const std::uint32_t> rows);

// Describes such a sum. A histogram counts values.
std::string describe_values_without_row(std::uint64_t total, const MetricDef& def);

}  // namespace ctprof
