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
constexpr std::size_t kWordLength = 10;
// The longest number, in digits, that is permuted as a whole.
constexpr std::size_t kMaxNumberDigits = 18;
// Prefix of a pseudonym for non-ASCII characters, so that the token still has such a letter.
constexpr std::string_view kNonAsciiPrefix = "ø";

// Unit types of systemd. Families of template units depend on the first one.
constexpr std::array<std::string_view, 6> kUnitTypes{"service", "slice", "scope",
                                                     "socket",  "mount", "timer"};

bool is_non_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }

}  // namespace

std::string Pseudonyms::pseudonym_of(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    if (const std::size_t size = separator_length(name); size > 0) {
      out += name.substr(0, size);
      name.remove_prefix(size);
      continue;
    }
    if (const UuidMatch uuid = find_uuid(name); uuid.size > 0) {
      if (uuid.letters > 0) out += add_word(name.substr(0, uuid.letters));
      out += uuid_of(name.substr(uuid.letters, uuid.size));
      name.remove_prefix(uuid.letters + uuid.size);
      continue;
    }
    const std::size_t size = token_length(name);
    add_token(out, name.substr(0, size));
    name.remove_prefix(size);
  }
  return out;
}

void Pseudonyms::add_token(std::string& out, std::string_view token) {
  if (std::ranges::find(kUnitTypes, token) != kUnitTypes.end())
    out += token;
  else if (classify_token(token) == TokenKind::Hex)
    out += permute_hex(token);
  else
    add_runs(out, token);
}

void Pseudonyms::add_runs(std::string& out, std::string_view token) {
  while (!token.empty()) {
    std::size_t size = 1;
    if (is_digit(token.front())) {
      size = prefix_length(token, is_digit);
      out += permute_number(token.substr(0, size));
    } else if (is_letter(token.front())) {
      size = prefix_length(token, is_letter);
      out += add_word(token.substr(0, size));
    } else if (is_non_ascii(token.front())) {
      size = prefix_length(token, is_non_ascii);
      out.append(kNonAsciiPrefix).append(add_word(token.substr(0, size)));
    } else {
      out += token.front();
    }
    token.remove_prefix(size);
  }
}

// If the pseudonym is already used, it is extended until it is unique.
const std::string& Pseudonyms::add_word(std::string_view text) {
  const auto [known, is_new] = words_.try_emplace(std::string(text));
  if (!is_new) return known->second;
  std::string& pseudonym = known->second;
  std::string salted(text);
  do {
    std::uint64_t bits = keyed_hash_(salted);
    for (std::size_t i = 0; i < kWordLength; ++i, bits /= kLetters.size())
      pseudonym += kLetters[bits % kLetters.size()];
    salted += '\0';
  } while (!used_words_.try_emplace(pseudonym, text).second);
  return pseudonym;
}

std::string Pseudonyms::permute_number(std::string_view digits) const {
  if (digits.size() < 2) return std::string(digits);
  std::string out;
  for (; digits.size() > kMaxNumberDigits; digits.remove_prefix(kMaxNumberDigits))
    out += permute_number(digits.substr(0, kMaxNumberDigits));
  std::uint64_t value = 0, size = 1;
  for (const char c : digits) value = value * 10 + static_cast<std::uint64_t>(c - '0'), size *= 10;
  std::string permuted = std::to_string(keyed_hash_.permute(value, size));
  return out + std::string(digits.size() - permuted.size(), '0') + permuted;
}

// Ids of up to 15 digits are permuted within their length, so that different ids stay different.
// Longer ids are hashed; equal results are improbable.
std::string Pseudonyms::permute_hex(std::string_view text) const {
  std::string id(text);
  const auto fits = [&] { return classify_token(id) == TokenKind::Hex; };
  if (text.size() > 15) {
    do {
      const std::string bytes = bytes_of(id);
      for (std::size_t i = 0; i < id.size(); ++i)
        id[i] = kHexDigits[static_cast<unsigned char>(bytes[i]) % kHexDigits.size()];
    } while (!fits());
    return id;
  }
  std::uint64_t value = 0;
  for (const char c : text) value = value << 4 | kHexDigits.find(c);
  do {
    value = keyed_hash_.permute(value, std::uint64_t{1} << (4 * text.size()));
    for (std::size_t i = 0; i < id.size(); ++i)
      id[i] = kHexDigits[value >> (4 * (id.size() - 1 - i)) & 0xf];
  } while (!fits());
  return id;
}

std::string Pseudonyms::bytes_of(std::string_view bytes) const {
  std::string out;
  std::string salted(bytes);
  while (out.size() < bytes.size()) {
    salted += '\1';
    std::uint64_t bits = keyed_hash_(salted);
    for (int i = 0; i < 8 && out.size() < bytes.size(); ++i, bits >>= 8)
      out += static_cast<char>(bits & 0xff);
  }
  return out;
}

// Permutes three ranges separately: up to 2^32, up to 2^62, and above, where the upper bits stay.
// Repeats a permutation whose result is in another range, so that different offsets stay different.
std::uint64_t Pseudonyms::offset_of(std::uint64_t offset) const {
  constexpr std::uint64_t kFileRange = std::uint64_t{1} << 32, kRange = std::uint64_t{1} << 62;
  if (offset < kFileRange) return keyed_hash_.permute(offset, kFileRange);
  std::uint64_t lower = offset % kRange;
  do lower = keyed_hash_.permute(lower, kRange);
  while (offset < kRange && lower < kFileRange);
  return offset - offset % kRange + lower;
}

std::string Pseudonyms::uuid_of(std::string_view uuid) const {
  const std::string bytes = bytes_of(uuid);
  std::string out(uuid);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (std::isxdigit(static_cast<unsigned char>(out[i])))
      out[i] = kHexDigits[static_cast<unsigned char>(bytes[i]) % kHexDigits.size()];
  return out;
}

}  // namespace ctprof
