// A flame graph as one file for browsers: SVG, or HTML around the same SVG.
//
// Without a script it is a picture that can be read and printed; with one, frames can be zoomed and
// searched, by mouse or by keyboard. Script and style are part of the file (flame.js, flame.css),
// nothing is fetched. It is as wide as its window, light or dark as its reader likes.
//
// Of a differential, widths are the candidate's; red frames have more by themselves than they had,
// blue ones less, the strongest colour for the largest change. What only the baseline has is listed
// below.
//
// Names are text whatever is in them: cut, and written so that no part of them is markup or moves
// other text.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/flame/flame_tree.hpp"

namespace ctprof {

struct FlameStyle {
  enum class Form : std::uint8_t { Svg, Html };

  Form form = Form::Svg;
  std::string title;
  std::string unit;      // of the weights
  bool icicle = false;   // the root is on top
  bool waiting = false;  // cold colours: these are waits
};

// At most this long, whatever is in the tree; the smallest frames are merged as needed.
inline constexpr std::size_t kMostFlamePage = 5'000'000;

std::string flame_page(const FlameTree& tree, const FlameStyle& style);

// How much of a picture is drawn: at most so many frames, none of a smaller share of all.
struct FlamePart {
  std::size_t most_frames = 0;
  double least_share = 0;
};

// The same picture as an SVG element inside another page, which has flame_style(): frames with
// their titles, without head, search and script.
// The strongest colour is for the largest change, also where only the baseline has it.
std::string flame_part(const FlameTree& tree, const FlameStyle& style, FlamePart part);
std::string_view flame_style();

}  // namespace ctprof
