// Splits a name into tokens, from which key_families.hpp builds families.
//
// A token is the text between separators: . - _ / : @ + [ ] and white space. UUIDs are found before
// tokens, because they contain separators.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ctprof {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

template <class Predicate>
std::size_t prefix_length(std::string_view text, Predicate predicate) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), predicate) -
                                  text.begin());
}

// Returns the length of the separator at the start of `text`, or 0. REQUIRES: `text` is not empty.
std::size_t separator_length(std::string_view text);
// Returns the length of the token at the start of `text`; 0 if it starts with a separator.
std::size_t token_length(std::string_view text);

// A UUID, and the letters before it, such as "pod".
struct UuidMatch {
  std::size_t letters = 0;
  std::size_t size = 0;  // 0: no UUID
};
// Finds a UUID at the start of `text`, possibly after letters. The letters may also be hexadecimal
// digits, so every start position is tried.
UuidMatch find_uuid(std::string_view text);

enum class TokenKind : std::uint8_t {
  Number,         // 12
  Hex,            // 1f, c0ffee: lower-case hexadecimal with a digit, two characters or more
  LettersNumber,  // worker7
  NumberLetters,  // 7worker
  Other,
};
// Returns the first kind that matches. REQUIRES: `token` is not empty.
TokenKind classify_token(std::string_view token);

}  // namespace ctprof
