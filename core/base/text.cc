#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <iterator>
#include <numeric>
#include <utility>

namespace ctprof {
namespace {

// Normalizes a name for comparison: ignores case, and treats - and _ as equal.
std::string normalize_name(std::string_view word) {
  std::string out(word);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
    else if (c == '-')
      c = '_';
  return out;
}

// Returns the number of letters to insert, remove or change to get from `a` to `b` (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, change}));
    }
  }
  return row.back();
}

}  // namespace

std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string quote_for_shell(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,.:/@%#";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos && word[0] != '#')
    return std::string(word);
  std::string quoted = "'";
  for (const char c : word) c == '\'' ? quoted += "'\\''" : quoted += c;
  return quoted + '\'';
}

std::string inflect(double count, std::string_view noun, std::string_view plural) {
  if (count == 1) return std::string(noun);
  if (!plural.empty()) return std::string(plural);
  return std::string(noun) + (noun.ends_with("ss") ? "es" : "s");
}

std::string format_count(std::uint64_t count, std::string_view noun, std::string_view plural) {
  return std::to_string(count) + " " + inflect(static_cast<double>(count), noun, plural);
}

std::string suggest_nearest(std::string_view word, std::span<const std::string> names) {
  const std::string normalized_word = normalize_name(word);
  struct Candidate {
    bool is_far;  // many letters differ, but it begins with the word
    std::size_t distance;
    std::string_view name;
    auto operator<=>(const Candidate&) const = default;
  };
  std::optional<Candidate> nearest;
  for (const std::string_view name : names) {
    const std::string normalized_name = normalize_name(name);
    const std::size_t letters = distance(normalized_word, normalized_name);
    const bool is_far = letters > std::max<std::size_t>(2, normalized_word.size() / 3);
    if (is_far && (normalized_word.empty() || !normalized_name.starts_with(normalized_word)))
      continue;
    const Candidate candidate{is_far, letters, name};
    if (!nearest || candidate < *nearest) nearest = candidate;
  }
  return nearest ? " (did you mean '" + std::string(nearest->name) + "'?)" : "";
}

namespace {

// Lead bytes by length: their bit pattern, and the smallest code point of that length.
struct LeadByteForm {
  unsigned char mask, lead;
  std::size_t bytes;
  char32_t min_code_point;
};
constexpr LeadByteForm kForms[] = {
    {0x80, 0x00, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};

struct PointRange {
  char32_t first, last;
};
constexpr PointRange kUnprintable[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},       {0x61c, 0x61c},    {0x180e, 0x180e},
    {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},   {0xfe00, 0xfe0f},  {0xfeff, 0xfeff},
    {0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};

bool is_scalar(char32_t value) { return value <= 0x10ffff && (value < 0xd800 || value > 0xdfff); }

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (const LeadByteForm& form : kForms) {
    if ((byte(0) & form.mask) != form.lead || text.size() < form.bytes) continue;
    char32_t value = byte(0) & static_cast<unsigned char>(~form.mask);
    for (std::size_t i = 1; i < form.bytes; ++i) {
      if ((byte(i) & 0xc0) != 0x80) return {};
      value = value << 6 | (byte(i) & 0x3f);
    }
    if (value < form.min_code_point || !is_scalar(value)) return {};
    return {value, form.bytes, true};
  }
  return {};
}

bool is_printable(char32_t point) {
  if (point >= ' ' && point <= '~') return true;  // the most frequent case
  return std::none_of(std::begin(kUnprintable), std::end(kUnprintable),
                      [&](PointRange r) { return point >= r.first && point <= r.last; });
}

std::size_t invalid_prefix_size(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t expected_bytes = lead >= 0xf0 && lead <= 0xf4  ? 4
                                     : lead >= 0xe0 && lead < 0xf0 ? 3
                                                                   : 1;
  if (expected_bytes == 1 || text.size() < 2 || !is_continuation(text[1])) return 1;
  const auto second = static_cast<unsigned char>(text[1]);
  const bool is_overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool is_out_of_range = (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f);
  if (is_overlong || is_out_of_range) return 1;
  return expected_bytes == 4 && text.size() > 2 && is_continuation(text[2]) ? 3 : 2;
}

namespace {

constexpr std::string_view kLineBlanks = "\t\r\n";
// The last four are the fullwidth characters = + - @.
constexpr std::array<std::string_view, 8> kFormulaSigns{"=",      "+",      "-",      "@",
                                                        "\uff1d", "\uff0b", "\uff0d", "\uff20"};

// Spreadsheets ignore such characters, or take them for separators.
bool is_skipped_before_formula(char c) {
  return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' || c == ';';
}

}  // namespace

bool looks_like_formula(std::string_view text) {
  if (text.empty()) return false;
  if (kLineBlanks.find(text.front()) != kLineBlanks.npos) return true;
  while (!text.empty() && is_skipped_before_formula(text.front())) text.remove_prefix(1);
  return std::ranges::any_of(kFormulaSigns,
                             [&](std::string_view sign) { return text.starts_with(sign); });
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (!point.is_valid) return false;
    text.remove_prefix(point.bytes);
  }
  return true;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    out += point.is_valid ? text.substr(0, point.bytes) : kReplacement;
    text.remove_prefix(point.is_valid ? point.bytes : invalid_prefix_size(text));
  }
  return out;
}

}  // namespace ctprof
