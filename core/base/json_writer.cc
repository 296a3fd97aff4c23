#include "core/base/json_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/text.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMostDigits = 32;  // of any number, including the shortest form of a double
constexpr std::size_t kMostDigitsOfU64 = 20;
constexpr std::size_t kFirstRoom = 256;
constexpr char kDelete = 0x7f;

// Returns whether `c` is a one-byte character that needs no escape.
bool is_plain(char c) {
  return static_cast<signed char>(c) >= 0x20 && c != '"' && c != '\\' && c != kDelete;
}

// Checks several characters in one vector register.
template <std::size_t Count>
bool are_plain(const char* characters) {
  using Vector [[gnu::vector_size(Count)]] = signed char;
  Vector each;
  std::memcpy(&each, characters, Count);
  // Bytes beyond ASCII are negative.
  const Vector odd = (each < 0x20) | (each == '"') | (each == '\\') | (each == kDelete);
  std::array<std::uint64_t, Count / sizeof(std::uint64_t)> words;
  std::memcpy(words.data(), &odd, Count);
  return std::ranges::all_of(words, [](std::uint64_t word) { return word == 0; });
}

constexpr std::size_t kMany = 16, kSome = 8;

// Returns the number of plain characters at the start of the text.
std::size_t plain_part(std::string_view text) {
  std::size_t at = 0;
  while (text.size() - at >= kMany && are_plain<kMany>(text.data() + at)) at += kMany;
  while (text.size() - at >= kSome && are_plain<kSome>(text.data() + at)) at += kSome;
  if (at > 0 && text.size() - at < kSome && are_plain<kSome>(text.data() + text.size() - kSome))
    return text.size();
  while (at < text.size() && is_plain(text[at])) ++at;
  return at;
}

}  // namespace

void JsonWriter::grow(std::size_t more) {
  const std::size_t used = size();
  const std::size_t room = std::max({kFirstRoom, 2 * used, used + more});
  auto larger = std::make_unique_for_overwrite<char[]>(room);
  if (used > 0) std::memcpy(larger.get(), begin_.get(), used);
  begin_ = std::move(larger);
  at_ = begin_.get() + used;
  end_ = begin_.get() + room;
}

void JsonWriter::long_number(std::uint64_t value) {
  reserve(kMostDigits);
  at_ = std::to_chars(at_, end_, value).ptr;
}

namespace {

// REQUIRES: space for kMaxDigits.
char* put_number(char* at, std::uint64_t value) {
  if (value >= 10) return std::to_chars(at, at + kMostDigits, value).ptr;
  *at = static_cast<char>('0' + value);
  return at + 1;
}

}  // namespace

// Checks the capacity only once, and keeps the position in a register: a char pointer may alias the
// members of this object, so the compiler would reload it.
void JsonWriter::member(const Phrase& key, std::uint64_t value) {
  if (!key.rest_.empty()) {
    key.write(*this);
    number(value);
    return put(',');
  }
  reserve(kBlock + kMostDigits + 1);
  std::memcpy(at_, key.head_.data(), kBlock);
  char* const end = put_number(at_ + key.size_, value);
  *end = ',';
  at_ = end + 1;
}

void JsonWriter::items(std::span<const std::uint64_t> numbers) {
  reserve(numbers.size() * (kMostDigitsOfU64 + 1) + kMostDigits);
  char* at = at_;
  for (const std::uint64_t value : numbers) {
    at = put_number(at, value);
    *at++ = ',';
  }
  at_ = at;
}

void JsonWriter::number(std::int64_t value) {
  reserve(kMostDigits);
  at_ = std::to_chars(at_, end_, value).ptr;
}

void JsonWriter::number(double value) {
  reserve(kMostDigits);
  at_ = std::to_chars(at_, end_, value).ptr;
}

void JsonWriter::text(std::string_view text) {
  put('"');
  while (!text.empty()) {
    const std::size_t plain = plain_part(text);
    raw(text.substr(0, plain));
    text.remove_prefix(plain);
    if (!text.empty()) text = rare(text);
  }
  put('"');
}

// Writes the first character of the text, which is not plain. Returns the rest.
std::string_view JsonWriter::rare(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte >= 0x80) {
    const CodePoint point = first_code_point(text);
    if (point.valid)
      code_point(text.substr(0, point.bytes), point.value);
    else
      raw(kReplacement);
    return text.substr(point.valid ? point.bytes : bad_part(text));
  }
  switch (byte) {
    case '"': raw("\\\""); break;
    case '\\': raw("\\\\"); break;
    case '\n': raw("\\n"); break;
    case '\t': raw("\\t"); break;
    case kDelete: code_point(text.substr(0, 1), byte); break;
    default: escaped(byte);
  }
  return text.substr(1);
}

// Writes a character that JSON does not require to be escaped.
void JsonWriter::code_point(std::string_view bytes, char32_t value) {
  escape_ == Escape::Json || is_showable(value) ? raw(bytes) : escaped(value);
}

// JSON escapes are UTF-16 code units, so a character beyond the first plane takes two.
void JsonWriter::escaped(char32_t point) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (point >= 0x10000) {
    escaped(0xd800 + ((point - 0x10000) >> 10));
    return escaped(0xdc00 + ((point - 0x10000) & 0x3ff));
  }
  raw("\\u");
  for (int shift = 12; shift >= 0; shift -= 4) put(kDigits[point >> shift & 0xf]);
}

void JsonWriter::made(std::string_view json) {
  if (escape_ == Escape::Json) return raw(json);
  for (; !json.empty();) {
    const CodePoint point = first_code_point(json);
    point.valid ? code_point(json.substr(0, point.bytes), point.value) : raw(kReplacement);
    json.remove_prefix(point.valid ? point.bytes : bad_part(json));
  }
}

}  // namespace ctprof
