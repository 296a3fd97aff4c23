// Writes a flame graph as one file for browsers: SVG, or HTML around the same SVG.
//
// Without scripts it can be read and printed; with scripts, frames can be zoomed and searched, by
// mouse or keyboard. Script and style are part of the file (flame.js, flame.css); nothing is
// loaded. It uses the width of the browser window, and the light or dark colours that the reader
// prefers.
//
// In a differential, widths are those of the candidate. Frames whose self weight increased are red,
// those whose self weight decreased are blue; the strongest colour marks the largest change. Frames
// that only the baseline has are listed below.
//
// Names may be hostile: they are shortened and escaped, so that no part of them is markup or moves
// other text.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/flame/flame_tree.hpp"

namespace ctprof {

struct FlameStyle {
  enum class Format : std::uint8_t { Svg, Html };

  Format format = Format::Svg;
  std::string title;
  std::string unit;         // of the weights
  bool is_icicle = false;   // the root is at the top
  bool is_waiting = false;  // cold colours, for waits
};

// Maximum size in bytes; the smallest frames are merged as needed.
inline constexpr std::size_t kMaxFlamePageSize = 5'000'000;

std::string make_flame_page(const FlameTree& tree, const FlameStyle& style);

// The part of a graph to draw: a maximum number of frames, and a minimum share of the total.
struct FlameLimits {
  std::size_t max_frames = 0;
  double min_share = 0;
};

// Returns the same graph as an SVG element for another page, which contains get_flame_style():
// frames with their titles, without head, search and script. The strongest colour marks the largest
// change, including changes of frames that only the baseline has.
std::string make_flame_element(const FlameTree& tree, const FlameStyle& style, FlameLimits limits);
std::string_view get_flame_style();

}  // namespace ctprof
