// Determines how the runs of two sides are compared: all with all, or in pairs.
//
// Runs recorded in alternation (`record --interleave`) contain the number of their pair and the
// seed of their order. Two sides are paired if all their runs belong to one such recording and they
// have pairs in common. A run without a partner is not used.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/compare/figures/run_facts.hpp"
#include "core/compare/request/spec.hpp"
#include "core/statistics/labellings.hpp"

namespace ctprof {

struct SideDesign {
  statistics::Design design;
  // Numbers of all compared runs, the baseline's first; for pairs, both sides are in pair order.
  std::vector<std::size_t> runs;
  // Whether the runs are blocks of consecutive windows. The block length was derived from counters.
  // Gauges such as memory can be correlated over longer times, so they are not tested.
  bool are_blocks = false;
};

// Returns the design of each side except the first, compared with the first. A side has no design
// unless both sides have several runs, or if its windows cannot be tested.
std::vector<std::optional<SideDesign>> find_designs(std::span<const RunFacts> runs,
                                                    std::span<const SideRuns> sides);

// Returns whether any side can be tested.
bool has_testable_side(std::span<const SideRuns> sides);

// Returns whether all runs of one side were taken before all runs of the other. Then any other
// change over time also makes the sides differ.
bool are_separate_in_time(std::span<const RunFacts> one, std::span<const RunFacts> other);

}  // namespace ctprof
