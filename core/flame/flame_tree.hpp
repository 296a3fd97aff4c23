// Builds the tree of a flame graph from weighted stacks, of one side or of two that are compared.
//
//   all 100 ─ worker 100 ─ io 100 ─ main 100 ─ read 60
//                                            ─ parse 40 (self 30)
//
// Calls of a function from two places of its caller are one node here, but two in a table of
// stacks. Recursion is kept, unless it is folded (FlameRun).
//
// Figures are sums of weights; a sum that overflows becomes the largest number.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/compare/evidence/designs.hpp"
#include "core/compare/request/spec.hpp"
#include "core/flame/flame_nodes.hpp"
#include "core/flame/stack_profile.hpp"

namespace ctprof {

// One run: the stacks of value number `value` of the profile, and the length of their window.
struct FlameRun {
  const StackProfile* profile = nullptr;
  std::size_t value = 0;
  double seconds = 0;
  // Omits waits of idle threads (is_idle_call), and waits of at least half of the window in threads
  // that rarely wait.
  bool hides_idle = false;
  // Shows a function that calls itself as one node.
  bool folds_recursion = false;
};
// Runs that are added up. Each may have its own table.
using FlameSide = std::vector<FlameRun>;

FlameTree make_flame_tree(const FlameSide& side);
// Builds a differential tree with the figures of both sides. If all lengths are known, the baseline
// is scaled to the total length of the candidate.
// With `by_share`, the baseline of each group (find_groups) is scaled to the group's total instead.
FlameTree make_flame_tree(const FlameSide& candidate, const FlameSide& baseline,
                          bool by_share = false);

// The pairing of the runs of both sides, and the thresholds of a significant change.
struct FlameTestDesign {
  SideDesign design;
  SignificanceThreshold bar;
  bool by_share = false;
};
// The same, with tests for significance (flame_evidence.hpp).
FlameTree make_flame_tree(const FlameSide& candidate, const FlameSide& baseline,
                          const FlameTestDesign& test);

// Returns the tree with at most `max_nodes` nodes, each with at least `min_share` of the root's
// total. Smaller nodes are merged by parent into nodes of kind Small; each remaining node has at
// most one of them.
FlameTree merge_small_nodes(const FlameTree& tree, std::size_t max_nodes, double min_share);

// Returns the topmost nodes that only the baseline has, largest first.
std::vector<std::uint32_t> find_baseline_only(const FlameTree& tree);

// Returns the names from the first node below the root to the node.
std::vector<std::string_view> get_path(const FlameTree& tree, std::uint32_t node);

}  // namespace ctprof
