#include "core/base/json_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/text.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMaxDigits = 32;  // of any number, including the shortest form of a double
constexpr std::size_t kMaxU64Digits = 20;
constexpr std::size_t kInitialCapacity = 256;
constexpr char kDelete = 0x7f;

// Returns whether `c` is a one-byte character that needs no escape.
bool is_plain(char c) {
  return static_cast<signed char>(c) >= 0x20 && c != '"' && c != '\\' && c != kDelete;
}

// Checks several characters in one vector register.
template <std::size_t Count>
bool are_plain(const char* characters) {
  using Vector [[gnu::vector_size(Count)]] = signed char;
  Vector characters_vector;
  std::memcpy(&characters_vector, characters, Count);
  // Bytes beyond ASCII are negative.
  const Vector special = (characters_vector < 0x20) | (characters_vector == '"') |
                         (characters_vector == '\\') | (characters_vector == kDelete);
  std::array<std::uint64_t, Count / sizeof(std::uint64_t)> words;
  std::memcpy(words.data(), &special, Count);
  return std::ranges::all_of(words, [](std::uint64_t word) { return word == 0; });
}

constexpr std::size_t kWideStep = 16, kNarrowStep = 8;

// Returns the number of plain characters at the start of the text.
std::size_t plain_prefix_size(std::string_view text) {
  std::size_t at = 0;
  while (text.size() - at >= kWideStep && are_plain<kWideStep>(text.data() + at)) at += kWideStep;
  while (text.size() - at >= kNarrowStep && are_plain<kNarrowStep>(text.data() + at))
    at += kNarrowStep;
  if (at > 0 && text.size() - at < kNarrowStep &&
      are_plain<kNarrowStep>(text.data() + text.size() - kNarrowStep))
    return text.size();
  while (at < text.size() && is_plain(text[at])) ++at;
  return at;
}

}  // namespace

void JsonWriter::grow(std::size_t bytes) {
  const std::size_t used = size();
  const std::size_t capacity = std::max({kInitialCapacity, 2 * used, used + bytes});
  auto larger = std::make_unique_for_overwrite<char[]>(capacity);
  if (used > 0) std::memcpy(larger.get(), begin_.get(), used);
  begin_ = std::move(larger);
  at_ = begin_.get() + used;
  end_ = begin_.get() + capacity;
}

void JsonWriter::long_number(std::uint64_t value) {
  reserve(kMaxDigits);
  at_ = std::to_chars(at_, end_, value).ptr;
}

namespace {

// REQUIRES: space for kMaxDigits.
char* put_number(char* at, std::uint64_t value) {
  if (value >= 10) return std::to_chars(at, at + kMaxDigits, value).ptr;
  *at = static_cast<char>('0' + value);
  return at + 1;
}

}  // namespace

// Checks the capacity only once, and keeps the position in a register: a char pointer may alias the
// members of this object, so the compiler would reload it.
void JsonWriter::member(const PreparedJson& key, std::uint64_t value) {
  if (!key.rest_.empty()) {
    key.write(*this);
    number(value);
    return put(',');
  }
  reserve(kBlockBytes + kMaxDigits + 1);
  std::memcpy(at_, key.head_.data(), kBlockBytes);
  char* const end = put_number(at_ + key.size_, value);
  *end = ',';
  at_ = end + 1;
}

void JsonWriter::items(std::span<const std::uint64_t> numbers) {
  reserve(numbers.size() * (kMaxU64Digits + 1) + kMaxDigits);
  char* at = at_;
  for (const std::uint64_t value : numbers) {
    at = put_number(at, value);
    *at++ = ',';
  }
  at_ = at;
}

void JsonWriter::number(std::int64_t value) {
  reserve(kMaxDigits);
  at_ = std::to_chars(at_, end_, value).ptr;
}

void JsonWriter::number(double value) {
  reserve(kMaxDigits);
  at_ = std::to_chars(at_, end_, value).ptr;
}

void JsonWriter::text(std::string_view text) {
  put('"');
  while (!text.empty()) {
    const std::size_t plain = plain_prefix_size(text);
    raw(text.substr(0, plain));
    text.remove_prefix(plain);
    if (!text.empty()) text = put_special(text);
  }
  put('"');
}

// Writes the first character of the text, which is not plain. Returns the rest.
std::string_view JsonWriter::put_special(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte >= 0x80) {
    const CodePoint point = first_code_point(text);
    if (point.is_valid)
      put_code_point(text.substr(0, point.bytes), point.value);
    else
      raw(kReplacement);
    return text.substr(point.is_valid ? point.bytes : invalid_prefix_size(text));
  }
  switch (byte) {
    case '"': raw("\\\""); break;
    case '\\': raw("\\\\"); break;
    case '\n': raw("\\n"); break;
    case '\t': raw("\\t"); break;
    case kDelete: put_code_point(text.substr(0, 1), byte); break;
    default: put_escape(byte);
  }
  return text.substr(1);
}

// Writes a character that JSON does not require to be escaped.
void JsonWriter::put_code_point(std::string_view bytes, char32_t value) {
  escape_ == Escape::Json || is_printable(value) ? raw(bytes) : put_escape(value);
}

// JSON escapes are UTF-16 code units, so a character beyond the first plane takes two.
void JsonWriter::put_escape(char32_t point) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (point >= 0x10000) {
    put_escape(0xd800 + ((point - 0x10000) >> 10));
    return put_escape(0xdc00 + ((point - 0x10000) & 0x3ff));
  }
  raw("\\u");
  for (int shift = 12; shift >= 0; shift -= 4) put(kDigits[point >> shift & 0xf]);
}

void JsonWriter::embed(std::string_view json) {
  if (escape_ == Escape::Json) return raw(json);
  for (; !json.empty();) {
    const CodePoint point = first_code_point(json);
    point.is_valid ? put_code_point(json.substr(0, point.bytes), point.value) : raw(kReplacement);
    json.remove_prefix(point.is_valid ? point.bytes : invalid_prefix_size(json));
  }
}

}  // namespace ctprof
