#include "core/compare/grouping/name_pattern.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace ctprof {
namespace {

constexpr std::string_view kSeparators = ".-_/:@+[]";
// White space beyond ASCII, as UTF-8.
constexpr std::array<std::string_view, 21> kWideSpaces{
    "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
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
  if (static_cast<unsigned char>(c) < 0x80) return 0;
  const auto wide = std::find_if(
      kWideSpaces.begin(), kWideSpaces.end(),
      [&](std::string_view space) { return !space.empty() && text.starts_with(space); });
  return wide == kWideSpaces.end() ? 0 : wide->size();
}

template <class Is>
std::size_t run_of(std::string_view text, Is is) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is) - text.begin());
}

// How long the UUID is that `text` begins with; 0 when it is none. The joints are all dashes, or
// all underscores.
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

using Drawn = NameFamilies::Drawn;
constexpr std::size_t kMark = 3;  // bytes of each mark

// A name's pattern, in which drawn pieces are marks, and these pieces. Names are shorter than 4
// GiB.
struct Shape {
  std::string_view name;
  std::string pattern;
  std::vector<Drawn> drawn;

  void draw(std::string_view text, std::string_view mark) {
    drawn.push_back({static_cast<std::uint32_t>(text.data() - name.data()),
                     static_cast<std::uint32_t>(text.size()),
                     static_cast<std::uint32_t>(pattern.size())});
    pattern += mark;
  }
};

void add_token(Shape& shape, std::string_view token) {
  const std::size_t digits = run_of(token, is_digit), letters = run_of(token, is_letter);
  if (digits == token.size())
    shape.pattern += "{N}";
  else if (token.size() >= 2 && run_of(token, is_lower_hex) == token.size() &&
           std::any_of(token.begin(), token.end(), is_digit))
    shape.draw(token, "{H}");
  else if (letters > 0 && letters < token.size() &&
           run_of(token.substr(letters), is_digit) == token.size() - letters)
    shape.pattern.append(token.substr(0, letters)).append("{N}");
  else if (digits > 0 && run_of(token.substr(digits), is_letter) == token.size() - digits)
    shape.pattern.append("{N}").append(token.substr(digits));
  else
    shape.pattern += token;
}

// The length of the token that `text` begins with; at least 1.
std::size_t token_at(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && separator_at(text.substr(size)) == 0) ++size;
  return size;
}

// A UUID and the letters before it, "pod" for example: the letters may be hexadecimal too, so each
// start is tried.
bool take_uuid(std::string_view& rest, Shape& shape) {
  const std::size_t letters = run_of(rest, is_letter);
  for (std::size_t start = 0; start <= letters; ++start) {
    const std::size_t size = uuid_at(rest.substr(start));
    if (size == 0) continue;
    shape.pattern += rest.substr(0, start);
    shape.draw(rest.substr(start, size), "{U}");
    rest.remove_prefix(start + size);
    return true;
  }
  return false;
}

Shape shape_of(std::string_view name) {
  Shape shape{name, {}, {}};
  while (!name.empty()) {
    std::size_t size = separator_at(name);
    if (size > 0) {
      shape.pattern += name.substr(0, size);
    } else {
      if (take_uuid(name, shape)) continue;
      size = token_at(name);
      add_token(shape, name.substr(0, size));
    }
    name.remove_prefix(size);
  }
  return shape;
}

// What is drawn alike in both names, by places in the pattern.
void keep_common(std::vector<Drawn>& common, std::string_view name, const Shape& other) {
  std::erase_if(common, [&, next = other.drawn.begin()](const Drawn& piece) mutable {
    while (next != other.drawn.end() && next->at < piece.at) ++next;
    return next == other.drawn.end() || next->at != piece.at ||
           next->in(other.name) != piece.in(name);
  });
}

}  // namespace

std::uint32_t NameFamilies::add(std::string_view name) {
  Shape shape = shape_of(name);
  const auto [place, is_new] =
      known_.try_emplace(std::move(shape.pattern), static_cast<std::uint32_t>(families_.size()));
  if (is_new)
    families_.push_back({&place->first, std::string(name), std::move(shape.drawn), true});
  else if (Family& family = families_[place->second]; family.first_name != name)
    family.one_name = false, keep_common(family.common, family.first_name, shape);
  return place->second;
}

std::string NameFamilies::key(const Family& family) {
  if (family.one_name) return family.first_name;
  std::string key;
  std::size_t from = 0;
  for (const Drawn& piece : family.common) {
    key.append(*family.pattern, from, piece.at - from).append(piece.in(family.first_name));
    from = piece.at + kMark;
  }
  return key.append(*family.pattern, from);
}

std::vector<std::string> NameFamilies::keys() const {
  std::vector<std::string> keys;
  for (const Family& family : families_) keys.push_back(key(family));
  return keys;
}

std::vector<std::string> name_patterns(std::span<const std::string> names) {
  NameFamilies families;
  std::vector<std::uint32_t> of_name;
  for (const std::string& name : names) of_name.push_back(families.add(name));
  const auto keys = families.keys();
  std::vector<std::string> found;
  for (const std::uint32_t family : of_name) found.push_back(keys[family]);
  return found;
}

}  // namespace ctprof
