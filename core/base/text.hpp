// Text: splits and joins lists, quotes, formats counts, suggests names for misspelt ones, reads
// UTF-8 by code points, and converts bytes to hexadecimal.
//
// See also: render/terminal_text.hpp (escapes for terminals), json_writer.hpp.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/hexadecimal.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// Returns the entries between the separators, unchanged. There is one more than separators, so an
// empty text is one empty entry.
inline std::vector<std::string_view> split(std::string_view list, char separator = ',') {
  std::vector<std::string_view> entries;
  for (bool has_more = true; has_more;) {
    has_more = list.find(separator) != list.npos;
    entries.push_back(sdk::take(list, separator));
  }
  return entries;
}

// Joins texts to "a, b, c", or with another separator. `Texts`: a range of values that convert to
// string_view.
template <class Texts>
std::string join_texts(const Texts& texts, std::string_view separator = ", ") {
  std::string list;
  bool first = true;
  for (const std::string_view text : texts) {
    if (!first) list += separator;
    list += text;
    first = false;
  }
  return list;
}

// Returns the text in single quotes, as messages quote names.
std::string quote(std::string_view text);
// Returns a word of a shell command: unchanged if it has only plain characters, otherwise in single
// quotes.
std::string quote_for_shell(std::string_view word);

// Returns the form of the noun that follows the count: the noun for 1, otherwise `plural`. Without
// `plural`, the noun gets an "s", or "es" after "ss".
std::string inflect(double count, std::string_view noun, std::string_view plural = {});
// "1 thread", "12 threads", "0 processes". `plural`: as in inflect().
std::string format_count(std::uint64_t count, std::string_view noun, std::string_view plural = {});

// Returns " (did you mean 'x'?)" for the nearest of `names`, or "" if none is near enough. The
// nearest name has the fewest letters to change, ignoring case; else it is the shortest that begins
// with the word.
std::string suggest_nearest(std::string_view word, std::span<const std::string> names);

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
  bool is_valid = false;  // false: a byte that belongs to no code point
};

// Returns the first code point. Overlong forms, surrogates and values beyond U+10FFFF are invalid.
// REQUIRES: text is not empty.
CodePoint first_code_point(std::string_view text);

// Returns whether a terminal shows the character in its place. False for controls, and for
// characters that change the direction of writing, join characters, separate lines, or are
// invisible.
bool is_printable(char32_t point);

// Returns the number of invalid bytes at the start that one U+FFFD replaces: a truncated code
// point, at least one byte. REQUIRES: text is not empty and does not begin with a valid code point.
std::size_t invalid_prefix_size(std::string_view text);

// U+FFFD, the replacement of bytes that are not UTF-8.
inline constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Returns whether every byte belongs to a valid code point.
bool is_utf8(std::string_view text);
// Returns whether a spreadsheet may treat the text as a formula: it begins with a tab, a carriage
// return or a line feed; or one of = + - @, also as a fullwidth character, is the first character
// after blanks, control characters and the separators ; and tab.
bool looks_like_formula(std::string_view text);

// Replaces each longest invalid part by U+FFFD.
std::string replace_invalid_utf8(std::string_view text);

}  // namespace ctprof
