// Names from the system, made safe for a terminal, and how wide text is on one.
//
// Whoever may name a thread may put an escape code there. What would move the cursor, change
// colours, break a line, turn the direction of writing or hide itself is shown as an escape: "\n",
// "\x1b", "\u202e". Bytes that are not UTF-8 are shown as "\xff".

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ctprof {

std::string printable(std::string_view name);

// The same of a text of which nobody knows how long it is: one of more than `most` bytes loses its
// middle.
inline constexpr std::size_t kMostName = 1024, kMostNote = 8 * 1024, kMostValue = 16 * 1024;
std::string told_name(std::string_view name, std::size_t most = kMostName);

// Columns that the text takes: wide letters two, combining marks none. REQUIRES: printable text.
std::size_t display_width(std::string_view text);

// The text in at most `width` columns; what is too long loses its middle to an ellipsis. REQUIRES:
// printable text.
std::string shortened(std::string_view text, std::size_t width);

// The text in pieces of at most `width` columns, broken behind a blank or a slash where there is
// one; at least one piece, and no letter lost. REQUIRES: printable text.
std::vector<std::string> folded(std::string_view text, std::size_t width);

}  // namespace ctprof
