#include "core/redact/pseudonyms.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/compare/grouping/name_tokens.hpp"

namespace ctprof {
namespace {

// Contains no hexadecimal digits, because a word next to a number must not look like an id.
constexpr std::string_view kLetters = "ghjklmnpqrstvwxz";
constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::size_t kWord = 10;
// The longest number, in digits, that is permuted as a whole.
constexpr std::size_t kLongestNumber = 18;
// Prefix of a pseudonym for non-ASCII characters, so that the token still has such a letter.
constexpr std::string_view kBeyondAscii = "ø";

// Unit types of systemd. Families of template units depend on the first one.
constexpr std::array<std::string_view, 6> kUnits{"service", "slice", "scope",
                                                 "socket",  "mount", "timer"};

bool is_beyond_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }

}  // namespace

std::string Pseudonyms::of(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    if (const std::size_t size = separator_at(name); size > 0) {
      out += name.substr(0, size);
      name.remove_prefix(size);
      continue;
    }
    if (const UuidPlace uuid = uuid_in(name); uuid.size > 0) {
      if (uuid.letters > 0) out += word(name.substr(0, uuid.letters));
      out += of_uuid(name.substr(uuid.letters, uuid.size));
      name.remove_prefix(uuid.letters + uuid.size);
      continue;
    }
    const std::size_t size = token_at(name);
    add_token(out, name.substr(0, size));
    name.remove_prefix(size);
  }
  return out;
}

void Pseudonyms::add_token(std::string& out, std::string_view token) {
  if (std::ranges::find(kUnits, token) != kUnits.end())
    out += token;
  else if (kind_of_token(token) == TokenKind::Hex)
    out += hex(token);
  else
    add_runs(out, token);
}

void Pseudonyms::add_runs(std::string& out, std::string_view token) {
  while (!token.empty()) {
    std::size_t size = 1;
    if (is_digit(token.front())) {
      size = run_of(token, is_digit);
      out += number(token.substr(0, size));
    } else if (is_letter(token.front())) {
      size = run_of(token, is_letter);
      out += word(token.substr(0, size));
    } else if (is_beyond_ascii(token.front())) {
      size = run_of(token, is_beyond_ascii);
      out.append(kBeyondAscii).append(word(token.substr(0, size)));
    } else {
      out += token.front();
    }
    token.remove_prefix(size);
  }
}

// If the pseudonym is already used, it is extended until it is unique.
const std::string& Pseudonyms::word(std::string_view text) {
  const auto [known, is_new] = words_.try_emplace(std::string(text));
  if (!is_new) return known->second;
  std::string& made = known->second;
  std::string salted(text);
  do {
    std::uint64_t bits = hash_(salted);
    for (std::size_t i = 0; i < kWord; ++i, bits /= kLetters.size())
      made += kLetters[bits % kLetters.size()];
    salted += '\0';
  } while (!taken_.try_emplace(made, text).second);
  return made;
}

std::string Pseudonyms::number(std::string_view digits) const {
  if (digits.size() < 2) return std::string(digits);
  std::string out;
  for (; digits.size() > kLongestNumber; digits.remove_prefix(kLongestNumber))
    out += number(digits.substr(0, kLongestNumber));
  std::uint64_t value = 0, size = 1;
  for (const char c : digits) value = value * 10 + static_cast<std::uint64_t>(c - '0'), size *= 10;
  std::string made = std::to_string(hash_.permuted(value, size));
  return out + std::string(digits.size() - made.size(), '0') + made;
}

// Ids of up to 15 digits are permuted within their length, so that different ids stay different.
// Longer ids are hashed; equal results are improbable.
std::string Pseudonyms::hex(std::string_view text) const {
  std::string made(text);
  const auto fits = [&] { return kind_of_token(made) == TokenKind::Hex; };
  if (text.size() > 15) {
    do {
      const std::string bytes = of_bytes(made);
      for (std::size_t i = 0; i < made.size(); ++i)
        made[i] = kHexDigits[static_cast<unsigned char>(bytes[i]) % kHexDigits.size()];
    } while (!fits());
    return made;
  }
  std::uint64_t value = 0;
  for (const char c : text) value = value << 4 | kHexDigits.find(c);
  do {
    value = hash_.permuted(value, std::uint64_t{1} << (4 * text.size()));
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i] = kHexDigits[value >> (4 * (made.size() - 1 - i)) & 0xf];
  } while (!fits());
  return made;
}

std::string Pseudonyms::of_bytes(std::string_view bytes) const {
  std::string out;
  std::string salted(bytes);
  while (out.size() < bytes.size()) {
    salted += '\1';
    std::uint64_t bits = hash_(salted);
    for (int i = 0; i < 8 && out.size() < bytes.size(); ++i, bits >>= 8)
      out += static_cast<char>(bits & 0xff);
  }
  return out;
}

std::string Pseudonyms::of_uuid(std::string_view uuid) const {
  const std::string bytes = of_bytes(uuid);
  std::string out(uuid);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (std::isxdigit(static_cast<unsigned char>(out[i])))
      out[i] = kHexDigits[static_cast<unsigned char>(bytes[i]) % kHexDigits.size()];
  return out;
}

}  // namespace ctprof
