// Weighted stacks as the tree that a flame graph draws, of one side or of two that are compared.
//
//   all 100 ─ worker 100 ─ io 100 ─ main 100 ─ read 60
//                                            ─ parse 40 (of them 30 itself)
//
// A function that is called from two places of its caller is one node here, where a table of stacks
// has two. Recursion stays as deep as it is, unless it is folded (FlameRun).
//
// Figures are sums of weights; where a sum would not fit it is the largest number.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/compare/asked/spec.hpp"
#include "core/compare/evidence/designs.hpp"
#include "core/flame/stack_profile.hpp"

namespace ctprof {

// What nodes have in common that mean the same.
struct FlameLabel {
  std::string name;
  std::string module;
  FrameKind kind = FrameKind::Group;
};

struct FlameFigures {
  std::uint64_t self = 0;   // where this is the innermost frame
  std::uint64_t total = 0;  // self, and that of all below
};

struct FlameNode {
  std::uint32_t parent = 0;
  std::uint32_t label = 0;
  std::uint32_t merged = 0;  // of a Small one: how many nodes it stands for
  FlameFigures now;
  FlameFigures base;      // the baseline's, where there is one
  bool unproven = false;  // of a judged tree: what it has by itself may not have changed
};

struct FlameTree {
  std::vector<FlameLabel> labels;
  std::vector<FlameNode> nodes;  // a parent before its children; [0] is above all
  bool has_base = false;
  // What the baseline's figures are multiplied by before they are compared.
  double base_scale = 1;
  // Whether its differences were judged, for both sides have several runs.
  bool judged = false;
  std::size_t small = 0;  // nodes that were left out or merged as too small to be drawn

  const FlameLabel& label(const FlameNode& node) const { return labels[node.label]; }
  const FlameNode& root() const { return nodes.front(); }
};

// One run: the stacks of the profile's value number `value`, and the length of what they are of.
struct FlameRun {
  const StackProfile* profile = nullptr;
  std::size_t value = 0;
  double seconds = 0;
  // Leaves out waits for something to do (is_idle_call), and those of half of the window in threads
  // that wait rarely.
  bool hides_idle = false;
  // A function that calls itself is one node.
  bool folds_recursion = false;
};
// Runs that count together: figures are sums over them. Each may have a table of its own.
using FlameSide = std::vector<FlameRun>;

FlameTree make_flame_tree(const FlameSide& side);
// A differential: the baseline's figures beside the candidate's, as if its runs together had been
// as long, where all lengths are known.
FlameTree make_flame_tree(const FlameSide& candidate, const FlameSide& baseline);

// How the runs of both sides belong together, and from where on a change is proven.
struct FlameTest {
  SideDesign design;
  Bar bar;
};
// The same, and judged (flame_evidence.hpp).
FlameTree make_flame_tree(const FlameSide& candidate, const FlameSide& baseline,
                          const FlameTest& test);

// The tree with at most `most` nodes, and none that has less than `least_share` of all. What is
// smaller is merged, parent by parent, into nodes of kind Small, of which there is at most one for
// each node that stays.
FlameTree without_small(const FlameTree& tree, std::size_t most, double least_share);

// The topmost nodes that only the baseline has, largest first.
std::vector<std::uint32_t> only_in_base(const FlameTree& tree);

// The names from the first below the root down to the node.
std::vector<std::string_view> path_to(const FlameTree& tree, std::uint32_t node);

}  // namespace ctprof
