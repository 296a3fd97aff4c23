// Tests the significance of a differential: the self weights of each node in the runs of both
// sides, as one family.
//
// A node with less than a thousandth of the total, on average over the runs of both sides, is not
// in the family, so its change is not significant. Figures are rates if the lengths of all runs are
// known. In a tree by shares, they are the shares of each group in the run, and the thousandth is
// one of the group; a run without samples of the group is a gap.
//
// See also: core/compare/evidence/evidence.hpp (the tests of a family).

#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/compare/evidence/designs.hpp"
#include "core/flame/flame_nodes.hpp"

namespace ctprof {

// The self weights of the nodes of a tree in one run; a node may occur several times. They are
// divided by `seconds`.
struct FlameWeights {
  std::vector<std::pair<std::uint32_t, double>> nodes{};
  double seconds = 1;
  bool is_gap = false;  // the weights are unknown
};

// Marks the nodes without a significant change. REQUIRES: `runs` are all runs of both sides, those
// of the baseline first, in the order of the design.
void mark_insignificant(FlameTree& tree, std::span<const FlameWeights> runs,
                        const SideDesign& design, const SignificanceThreshold& threshold);

}  // namespace ctprof
