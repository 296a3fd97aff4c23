// Bytes as text: UTF-8, one code point at a time, from bytes that need not be UTF-8; and
// hexadecimal digits, for bytes that must come back as they were.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ctprof {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;  // if not, this is a byte that belongs to no code point
};

// The one at the beginning. Overlong forms, surrogates and what lies beyond U+10FFFF are not valid.
// REQUIRES: text is not empty.
CodePoint first_code_point(std::string_view text);

// Whether a terminal shows it in its place: not so for controls, and for what changes the direction
// of writing, joins characters, separates lines, or cannot be seen at all.
bool is_showable(char32_t point);

// How many bytes one U+FFFD replaces where the text does not begin with a code point: the beginning
// of one that is cut short, at least one byte. REQUIRES: text is not empty.
std::size_t bad_part(std::string_view text);

// U+FFFD, in place of bytes that are not UTF-8.
inline constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Whether every byte belongs to a valid code point.
bool is_utf8(std::string_view text);

// The text with U+FFFD for each longest part that is not valid.
std::string valid_utf8(std::string_view text);

// Two lower-case digits for each byte.
std::string hex(std::string_view bytes);
// The bytes back; nothing where the text is anything else.
std::optional<std::string> unhex(std::string_view text);

}  // namespace ctprof
