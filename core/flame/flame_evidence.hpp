// How sure a differential is: what each node has by itself in the runs of both sides, judged as one
// family.
//
// A node that has below a thousandth of all, on average over the runs of both sides together, is
// not in the family, and so its change is not proven. Figures are rates where all runs tell how
// long they are.
//
// Not here: how a family is judged (core/compare/evidence/evidence.hpp).

#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/compare/evidence/designs.hpp"
#include "core/flame/flame_tree.hpp"

namespace ctprof {

// What nodes of a tree have by themselves in one run, a node as often as it was met; and by what
// it is divided.
struct FlameWeights {
  std::vector<std::pair<std::uint32_t, double>> nodes{};
  double seconds = 1;
  bool is_gap = false;  // it is not known what they have
};

// Marks the nodes whose change is not proven. REQUIRES: `runs` are all runs of both sides, the
// baseline's first, as the design counts them.
void mark_unproven(FlameTree& tree, std::span<const FlameWeights> runs, const SideDesign& design,
                   const Bar& bar);

}  // namespace ctprof
