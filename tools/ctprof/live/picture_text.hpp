// Words and lines that pictures of a view consist of.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/asked/spec.hpp"
#include "tools/ctprof/live/view.hpp"

namespace ctprof::live {

// "20:31:05": the local time of day.
std::string clock_time(std::uint64_t wall_ns);
// "9:59": minutes and seconds.
std::string minutes(std::uint64_t ns);
// "processes by name"
std::string axis_word_of(GroupBy axis);
// Adds the lines of the text that are not empty.
void add_text(std::vector<Line>& lines, std::string_view text, Look look = Look::Plain);
// The text in at most `width` columns; an ellipsis replaces the end of what is too long. REQUIRES:
// printable text.
std::string cut_to(std::string_view text, std::size_t width);
void append(std::vector<Line>& to, std::vector<Line> more);

}  // namespace ctprof::live
