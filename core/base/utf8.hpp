// UTF-8, one code point at a time, from bytes that need not be UTF-8.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ctprof {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;  // if not, this is one byte that belongs to no code point
};

// The one at the beginning. Overlong forms, surrogates and what lies beyond U+10FFFF are not valid.
// REQUIRES: text is not empty.
CodePoint first_code_point(std::string_view text);

// Whether a terminal shows it where it stands: false of controls, and of what turns the direction
// of writing, joins, separates lines, or cannot be seen at all.
bool is_showable(char32_t point);

// How many bytes one U+FFFD stands for, where the text begins with no code point: those that begin
// one and then stop short of it, and at least one. REQUIRES: text is not empty.
std::size_t bad_part(std::string_view text);

// What is shown where bytes are no UTF-8: U+FFFD.
inline constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Whether every byte belongs to a valid code point.
bool is_utf8(std::string_view text);

// The text with U+FFFD for each longest part that is not valid.
std::string valid_utf8(std::string_view text);

}  // namespace ctprof
