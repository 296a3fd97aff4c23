// The figures of a flame graph as text, and the styles of kinds of frames.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/flame/flame_tree.hpp"

namespace ctprof {

inline constexpr std::size_t kMaxFlameNameBytes = 256;

// The class of a kind of frames in flame.css, and its name in the legend.
struct FrameKindStyle {
  char letter;
  std::string_view word;
};
// Indexed by FrameKind.
std::span<const FrameKindStyle> get_frame_kind_styles();

// Returns 0 if the whole is 0.
double get_share(std::uint64_t part, std::uint64_t whole);

// The tree must outlive it.
class FlameFigureText {
 public:
  FlameFigureText(const FlameTree& tree, std::string unit) : tree_(&tree), unit_(std::move(unit)) {}

  std::string format_value(std::uint64_t weight) const;
  // Formats a weight of the baseline, scaled to the candidate.
  std::string format_baseline(std::uint64_t weight) const;
  // Returns the relative change of a node, as "+12.3%". REQUIRES: the baseline has it.
  std::string format_change(const FlameNode& node) const;
  // Returns the printable name, or the number of nodes that a merged node replaces.
  std::string format_name(const FlameNode& node) const;
  // Returns the difference of the self weights.
  double get_self_change(const FlameNode& node) const;

 private:
  const FlameTree* tree_;
  std::string unit_;
};

}  // namespace ctprof
