// Text: lists taken apart and joined, names that may be misspelt, and bytes that may not be UTF-8.
//
// What is here:   splitting and joining, the nearest of some names, UTF-8 one code point at a time,
// and hexadecimal digits for bytes that must come back as they were.
// What is not:    escapes for terminals (render/terminal_text.hpp), JSON (json_writer.hpp).

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ctprof/files.hpp"

namespace ctprof {

// The entries between the marks, unchanged: one more than there are marks, so an empty text is one
// empty entry.
inline std::vector<std::string_view> split(std::string_view list, char mark = ',') {
  std::vector<std::string_view> entries;
  for (bool more = true; more;) {
    more = list.find(mark) != list.npos;
    entries.push_back(sdk::take(list, mark));
  }
  return entries;
}

// The entries in one text: "a, b, c", or with another text between. `Texts` is any range of what
// converts to string_view.
template <class Texts>
std::string joined(const Texts& texts, std::string_view between = ", ") {
  std::string list;
  bool first = true;
  for (const std::string_view text : texts) {
    if (!first) list += between;
    list += text;
    first = false;
  }
  return list;
}

// " (did you mean 'x'?)" when one of `names` is near enough to `word` to be offered, else nothing:
// the one with the fewest letters to change, whatever the case, else the shortest that begins with
// the word.
std::string nearest_hint(std::string_view word, std::span<const std::string> names);

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
// Whether a spreadsheet takes a text for a formula: its first character that is no blank is one of
// = + - @, or it begins with a tab or a carriage return.
bool looks_like_formula(std::string_view text);

// The text with U+FFFD for each longest part that is not valid.
std::string valid_utf8(std::string_view text);

// Two lower-case digits for each byte.
std::string hex(std::string_view bytes);
// The bytes back; nothing where the text is anything else.
std::optional<std::string> unhex(std::string_view text);

}  // namespace ctprof
