// The tree of a flame graph: labels, nodes and their weights.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/compare/evidence/designs.hpp"
#include "core/compare/request/spec.hpp"
#include "core/flame/stack_profile.hpp"

namespace ctprof {

// The label of a node; nodes with the same meaning share it.
struct FlameLabel {
  std::string name;
  std::string module;
  FrameKind kind = FrameKind::Group;
};

struct FlameFigures {
  std::uint64_t self = 0;   // weight of stacks in which this is the leaf
  std::uint64_t total = 0;  // self, and that of all descendants
};

struct FlameNode {
  std::uint32_t parent = 0;
  std::uint32_t label = 0;
  std::uint32_t merged_nodes = 0;  // for a Small node: how many nodes it replaces
  FlameFigures candidate;
  FlameFigures baseline;          // of the baseline, if there is one
  bool is_insignificant = false;  // in a tested tree: the change of self is not significant
};

struct FlameTree {
  std::vector<FlameLabel> labels;
  std::vector<FlameNode> nodes;  // a parent comes before its children; [0] is the root
  bool has_baseline = false;
  // The factor for figures of the baseline before a comparison.
  double baseline_scale = 1;
  // Whether its differences were tested for significance, because both sides have several runs.
  bool is_tested = false;
  // Whether the sides are compared by the shares of each group (find_groups): the baseline of a
  // group is scaled to the group's total.
  bool is_by_share = false;
  std::size_t small_nodes = 0;  // nodes too small to be drawn

  const FlameLabel& label(const FlameNode& node) const { return labels[node.label]; }
  const FlameNode& root() const { return nodes.front(); }
};

// Returns for each node the node of its group, such as a process: the ancestor below the root. It
// is the root itself if the tree has only one group, without a node for it.
std::vector<std::uint32_t> find_groups(const FlameTree& tree);

}  // namespace ctprof
