// The tokens of a name, of which key_families.hpp says what families they make.
//
// A token is what stands between separators: . - _ / : @ + [ ] and white space. A UUID is found
// before tokens are, since it has separators of its own.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ctprof {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

template <class Is>
std::size_t run_of(std::string_view text, Is is) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is) - text.begin());
}

// The length of the separator that `text` begins with, or 0. REQUIRES: not empty.
std::size_t separator_at(std::string_view text);
// The length of the token that `text` begins with, 0 where a separator is.
std::size_t token_at(std::string_view text);

// A UUID, and the letters before it, such as "pod".
struct UuidPlace {
  std::size_t letters = 0;
  std::size_t size = 0;  // 0: there is none
};
// What `text` begins with. The letters may be hexadecimal digits too, so every start is tried.
UuidPlace uuid_in(std::string_view text);

enum class TokenKind : std::uint8_t {
  Number,         // 12
  Hex,            // 1f, c0ffee: lower-case hexadecimal with a digit, two characters or more
  LettersNumber,  // worker7
  NumberLetters,  // 7worker
  Other,
};
// The first that fits. REQUIRES: not empty.
TokenKind kind_of_token(std::string_view token);

}  // namespace ctprof
