#include "core/compare/name_pattern.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_map>

namespace ctprof {
namespace {

constexpr std::string_view kSeparators = ".-_/:@+[]";
// White space beyond ASCII, as UTF-8.
constexpr std::array<std::string_view, 21> kWideSpaces{"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
                                                       "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
                                                       "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
constexpr std::array<std::size_t, 5> kUuidParts{8, 4, 4, 4, 12};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
bool is_hex(char c) { return is_lower_hex(c) || (c >= 'A' && c <= 'F'); }

// How many bytes of separator `text` begins with.
std::size_t separator_at(std::string_view text) {
  const char c = text.front();
  if (kSeparators.find(c) != kSeparators.npos || c == ' ' || (c >= '\t' && c <= '\r')) return 1;
  const auto wide = std::find_if(kWideSpaces.begin(), kWideSpaces.end(),
                                 [&](std::string_view space) { return !space.empty() && text.starts_with(space); });
  return wide == kWideSpaces.end() ? 0 : wide->size();
}

template <class Is>
std::size_t run_of(std::string_view text, Is is) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is) - text.begin());
}

// How long the UUID is that `text` begins with; 0 when it is none. The joints are all dashes, or all underscores.
std::size_t uuid_at(std::string_view text) {
  constexpr std::size_t kLength = 36, kFirstJoint = 8;
  if (text.size() < kLength || (text[kFirstJoint] != '-' && text[kFirstJoint] != '_')) return 0;
  std::size_t at = 0;
  for (const std::size_t part : kUuidParts) {
    if (run_of(text.substr(at, part), is_hex) != part) return 0;
    at += part;
    if (at < kLength && text[at++] != text[kFirstJoint]) return 0;
  }
  return at == text.size() || !is_hex(text[at]) ? at : 0;
}

// A piece of a name: what it says, and what stands for it in a pattern. One that is `drawn` gives its text up only where it varies.
struct Piece {
  std::string_view text;
  std::string mark;
  bool drawn = false;
};

Piece classify(std::string_view token) {
  const std::size_t digits = run_of(token, is_digit), letters = run_of(token, is_letter);
  if (digits == token.size()) return {token, "{N}"};
  if (token.size() >= 2 && run_of(token, is_lower_hex) == token.size() && std::any_of(token.begin(), token.end(), is_digit))
    return {token, "{H}", true};
  if (letters > 0 && letters < token.size() && run_of(token.substr(letters), is_digit) == token.size() - letters)
    return {token, std::string(token.substr(0, letters)) + "{N}"};
  if (digits > 0 && run_of(token.substr(digits), is_letter) == token.size() - digits)
    return {token, "{N}" + std::string(token.substr(digits))};
  return {token, std::string(token)};
}

// The length of the token that `text` begins with; at least 1.
std::size_t token_at(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && separator_at(text.substr(size)) == 0) ++size;
  return size;
}

// A UUID and the letters before it, "pod" for example: the letters may be hexadecimal too, so each start is tried.
bool take_uuid(std::string_view& rest, std::vector<Piece>& pieces) {
  const std::size_t letters = run_of(rest, is_letter);
  for (std::size_t start = 0; start <= letters; ++start) {
    const std::size_t size = uuid_at(rest.substr(start));
    if (size == 0) continue;
    if (start > 0) pieces.push_back({rest.substr(0, start), std::string(rest.substr(0, start))});
    pieces.push_back({rest.substr(start, size), "{U}", true});
    rest.remove_prefix(start + size);
    return true;
  }
  return false;
}

std::vector<Piece> pieces_of(std::string_view name) {
  std::vector<Piece> pieces;
  while (!name.empty()) {
    if (const std::size_t size = separator_at(name); size > 0) {
      pieces.push_back({name.substr(0, size), std::string(name.substr(0, size))});
      name.remove_prefix(size);
      continue;
    }
    if (take_uuid(name, pieces)) continue;
    const std::size_t size = token_at(name);
    pieces.push_back(classify(name.substr(0, size)));
    name.remove_prefix(size);
  }
  return pieces;
}

std::string pattern_of(const std::vector<Piece>& pieces) {
  std::string pattern;
  for (const Piece& piece : pieces) pattern += piece.mark;
  return pattern;
}

// The names of one pattern, and what they have in common.
struct Family {
  std::string_view first_name;
  std::vector<Piece> common;
  bool one_name = true;

  void add(std::string_view name, const std::vector<Piece>& pieces) {
    if (common.empty()) first_name = name, common = pieces;
    if (name != first_name) one_name = false;
    for (std::size_t i = 0; i < pieces.size() && i < common.size(); ++i)
      if (common[i].drawn && common[i].text != pieces[i].text) common[i].drawn = false;
  }

  std::string key() const {
    if (one_name) return std::string(first_name);
    std::string key;
    for (const Piece& piece : common) key += piece.drawn ? std::string(piece.text) : piece.mark;
    return key;
  }
};

}  // namespace

std::vector<std::string> name_patterns(std::span<const std::string> names) {
  std::unordered_map<std::string, Family> families;
  std::vector<const Family*> of_name;
  for (const std::string& name : names) {
    const auto pieces = pieces_of(name);
    Family& family = families[pattern_of(pieces)];
    family.add(name, pieces);
    of_name.push_back(&family);
  }
  std::unordered_map<const Family*, std::string> keys;
  for (const auto& [pattern, family] : families) keys.emplace(&family, family.key());
  std::vector<std::string> found;
  for (const Family* family : of_name) found.push_back(keys.at(family));
  return found;
}

}  // namespace ctprof
