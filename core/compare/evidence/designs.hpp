// How two sides' runs belong together: any with any, or in pairs.
//
// Runs that were taken in turns (`record --interleave`) carry the number of their pair and the seed
// of the order in which they were taken. Two sides are paired if all their runs are of one such
// recording, and have pairs in common; a run whose partner is missing has no part in the evidence.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/compare/asked/spec.hpp"
#include "core/compare/figures/run_facts.hpp"
#include "core/statistics/labellings.hpp"

namespace ctprof {

struct SideDesign {
  statistics::Design design;
  // Numbers of all runs that are compared: the baseline's first, and of pairs both in their order.
  std::vector<std::size_t> runs;
  // Whether the runs are blocks of consecutive windows, whose length follows from figures that are
  // counted: levels, such as memory, may resemble themselves for longer, and are not tested.
  bool are_blocks = false;
};

// Of each side but the first, against the first; none unless both have several runs, and none of a
// span that cannot be tested.
std::vector<std::optional<SideDesign>> designs_of(std::span<const RunFacts> runs,
                                                  std::span<const SideRuns> sides);

// Whether any side can be judged.
bool any_judged(std::span<const SideRuns> sides);

// Whether all runs of one side were taken before all of the other. So they would differ by whatever
// else changed with time.
bool are_one_after_other(std::span<const RunFacts> one, std::span<const RunFacts> other);

}  // namespace ctprof
