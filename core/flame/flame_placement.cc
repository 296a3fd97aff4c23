#include "core/flame/flame_placement.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace ctprof {
namespace {

// Returns the nodes with children of one parent ordered by name; merged nodes come last.
std::vector<std::uint32_t> sort_nodes(const FlameTree& tree) {
  std::vector<std::uint32_t> order(tree.nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const FlameNode &first = tree.nodes[a], &second = tree.nodes[b];
    if (first.parent != second.parent) return first.parent < second.parent;
    if ((first.merged_nodes == 0) != (second.merged_nodes == 0)) return first.merged_nodes == 0;
    const int names = tree.label(first).name.compare(tree.label(second).name);
    return names != 0 ? names < 0 : a < b;
  });
  return order;
}

}  // namespace

std::vector<PlacedFrame> place_frames(const FlameTree& tree) {
  std::vector<std::vector<std::uint32_t>> children(tree.nodes.size());
  for (const std::uint32_t node : sort_nodes(tree))
    if (node != 0) children[tree.nodes[node].parent].push_back(node);
  std::vector<PlacedFrame> frames, pending{{}};
  while (!pending.empty()) {
    const PlacedFrame frame = pending.back();
    pending.pop_back();
    frames.push_back(frame);
    const std::size_t first = pending.size();
    std::uint64_t x = frame.x;
    for (const std::uint32_t child : children[frame.node]) {
      pending.push_back({child, frame.depth + 1, x});
      x += tree.nodes[child].candidate.total;
    }
    std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(first), pending.end());
  }
  return frames;
}

}  // namespace ctprof
