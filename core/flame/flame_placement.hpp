// Places the frames of a flame graph: their rows, and their distances from the left edge.

#pragma once

#include <cstdint>
#include <vector>

#include "core/flame/flame_tree.hpp"

namespace ctprof {

struct PlacedFrame {
  std::uint32_t node = 0;
  int depth = 0;
  std::uint64_t x = 0;  // in units of weight, from the left edge
};

// Returns the frames, each before its children, and children from left to right: ordered by name,
// merged ones last.
std::vector<PlacedFrame> place_frames(const FlameTree& tree);

}  // namespace ctprof
