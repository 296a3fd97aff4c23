// Texts and lines for the screens of a view.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/request/spec.hpp"
#include "tools/ctprof/live/view.hpp"

namespace ctprof::live {

// Returns the local time of day: "20:31:05".
std::string format_clock_time(std::uint64_t wall_ns);
// Returns minutes and seconds: "9:59".
std::string format_minutes(std::uint64_t ns);
// Returns the name of an axis: "processes by name".
std::string axis_label(GroupBy axis);
// Adds the nonempty lines of the text.
void add_text(std::vector<Line>& lines, std::string_view text, LineStyle style = LineStyle::Plain);
// Truncates the text to at most `width` columns; an ellipsis replaces the end. REQUIRES: printable
// text.
std::string truncate_text(std::string_view text, std::size_t width);
void append_lines(std::vector<Line>& to, std::vector<Line> more);

}  // namespace ctprof::live
