// Writes the frames of a flame graph as SVG elements, with their colours and titles.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/flame/flame_figures.hpp"
#include "core/flame/flame_placement.hpp"

namespace ctprof {

inline constexpr int kFlameRowHeight = 18;  // as in flame.js

// The tree must outlive it. `is_icicle`: the root is at the top.
class FlameFrames {
 public:
  FlameFrames(const FlameTree& tree, const std::string& unit, bool is_icicle);

  // Gives the strongest colour to the largest change in `tree`, which may have more nodes than the
  // tree that is drawn.
  void find_largest_change(const FlameTree& tree);
  int get_height() const { return rows_ * kFlameRowHeight; }
  void append_to(std::string& out) const;

 private:
  void append_frame(std::string& out, const PlacedFrame& frame) const;
  void append_figures(std::string& out, const FlameNode& node, double share) const;
  void append_shares(std::string& out, const FlameNode& node) const;
  std::string get_colour_class(const FlameNode& node) const;
  std::string get_change_colour_class(double change) const;

  const FlameTree* tree_;
  FlameFigureText figures_;
  bool is_icicle_;
  std::vector<PlacedFrame> frames_;
  std::vector<std::uint32_t> groups_;  // by node, in a tree by shares
  int rows_ = 1;
  double largest_change_ = 0;
};

}  // namespace ctprof
