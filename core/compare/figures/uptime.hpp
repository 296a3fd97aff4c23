// Uptime: how long the threads of a group have lived, as a share of the group that lives longest.
//
// A group's lifetime is from the mean of its threads' starts to the newest start in the snapshot;
// under compare that of the last candidate.

#pragma once

#include <vector>

#include "core/compare/figures/rollup.hpp"
#include "core/compare/grouping/grouping.hpp"

namespace ctprof {

// By group, 0 to 1; NaN where the snapshot says nothing. Groups that the baseline has too are
// measured against each other.
std::vector<double> uptimes(const Rollup& rollup, const Grouping& grouping);

}  // namespace ctprof
