// The heading of the live view: the window's time and size, with bars for CPU time, memory and
// pressure.
//
//   20:31:05   1.0 s   2 CPUs   threads 153 → 157, +144 -140   load 9.6
//   cpu #########++++???....  130 of 200 %: living 90, exited 30, unaccounted 10 (±2)
//   mem ##.......... 3.6 of 23.5 GiB   pressure cpu ##.. 46 io .... 1.1 mem .... 0 %
//
// In the CPU bar, '#' is the time of living threads, '+' that of exited threads, '?' unaccounted
// time. Percentages are relative to one CPU. The bars are ASCII text: they need neither colors nor
// a font. They shrink to fit the width, and are omitted if even short ones do not fit.
//
// See also: core/render/window_text.hpp, host_text.hpp (the same without bars).

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/figures/run_facts.hpp"

namespace ctprof::live {

// A part of a bar, as a fraction of the whole.
struct BarPart {
  char symbol;
  double share;
};

// Returns "####++....", `width` characters. The parts add up to at most the whole bar. Their ends
// are rounded to characters.
std::string format_bar(std::span<const BarPart> parts, std::size_t width);

// Returns the heading of a window that closed at that time of day; each line has at most `width`
// columns. Unknown values are omitted. REQUIRES: run.window.
std::vector<std::string> heading_lines(const RunFacts& run, std::string_view time,
                                       std::size_t width);

}  // namespace ctprof::live
