#include "core/compare/grouping/name_tokens.hpp"

#include <array>

namespace ctprof {
namespace {

constexpr std::string_view kSeparators = ".-_/:@+[]";
// White space beyond ASCII, as UTF-8.
constexpr std::array<std::string_view, 21> kWideSpaces{
    "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
    "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
    "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
constexpr std::array<std::size_t, 5> kUuidParts{8, 4, 4, 4, 12};

bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
bool is_hex(char c) { return is_lower_hex(c) || (c >= 'A' && c <= 'F'); }

// Returns the length of the UUID at the start of `text`, or 0. All its separators are dashes, or
// all are underscores.
std::size_t uuid_length(std::string_view text) {
  constexpr std::size_t kLength = 36, kFirstDash = 8;
  if (text.size() < kLength || (text[kFirstDash] != '-' && text[kFirstDash] != '_')) return 0;
  std::size_t at = 0;
  for (const std::size_t part : kUuidParts) {
    if (prefix_length(text.substr(at, part), is_hex) != part) return 0;
    at += part;
    if (at < kLength && text[at++] != text[kFirstDash]) return 0;
  }
  return at == text.size() || !is_hex(text[at]) ? at : 0;
}

}  // namespace

std::size_t separator_length(std::string_view text) {
  const char c = text.front();
  if (kSeparators.find(c) != kSeparators.npos || c == ' ' || (c >= '\t' && c <= '\r')) return 1;
  if (static_cast<unsigned char>(c) < 0x80) return 0;
  const auto wide = std::find_if(
      kWideSpaces.begin(), kWideSpaces.end(),
      [&](std::string_view space) { return !space.empty() && text.starts_with(space); });
  return wide == kWideSpaces.end() ? 0 : wide->size();
}

std::size_t token_length(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && separator_length(text.substr(size)) == 0) ++size;
  return size;
}

UuidMatch find_uuid(std::string_view text) {
  const std::size_t letters = prefix_length(text, is_letter);
  for (std::size_t start = 0; start <= letters; ++start)
    if (const std::size_t size = uuid_length(text.substr(start)); size > 0) return {start, size};
  return {};
}

TokenKind classify_token(std::string_view token) {
  const std::size_t digits = prefix_length(token, is_digit),
                    letters = prefix_length(token, is_letter);
  if (digits == token.size()) return TokenKind::Number;
  if (token.size() >= 2 && prefix_length(token, is_lower_hex) == token.size() &&
      std::any_of(token.begin(), token.end(), is_digit))
    return TokenKind::Hex;
  if (letters > 0 && letters < token.size() &&
      prefix_length(token.substr(letters), is_digit) == token.size() - letters)
    return TokenKind::LettersNumber;
  if (digits > 0 && prefix_length(token.substr(digits), is_letter) == token.size() - digits)
    return TokenKind::NumberLetters;
  return TokenKind::Other;
}

}  // namespace ctprof
