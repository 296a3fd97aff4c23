// Texts and lines for the screens of a view.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/asked/spec.hpp"
#include "tools/ctprof/live/view.hpp"

namespace ctprof::live {

// Returns the local time of day: "20:31:05".
std::string clock_time(std::uint64_t wall_ns);
// Returns minutes and seconds: "9:59".
std::string minutes(std::uint64_t ns);
// Returns the name of an axis: "processes by name".
std::string axis_word_of(GroupBy axis);
// Adds the nonempty lines of the text.
void add_text(std::vector<Line>& lines, std::string_view text, Look look = Look::Plain);
// Truncates the text to at most `width` columns; an ellipsis replaces the end. REQUIRES: printable
// text.
std::string cut_to(std::string_view text, std::size_t width);
void append(std::vector<Line>& to, std::vector<Line> more);

}  // namespace ctprof::live
