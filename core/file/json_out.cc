#include "core/file/json_out.hpp"

#include <algorithm>
#include <charconv>

#include "core/base/utf8.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMostDigits = 32;  // of any number, a double's shortest form included
constexpr std::size_t kFirstRoom = 64 * 1024;
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Whether a string holds `c` as it stands and one byte is all there is to it.
bool is_plain(char c) { return static_cast<signed char>(c) >= 0x20 && c != '"' && c != '\\'; }

}  // namespace

void JsonOut::grow(std::size_t more) {
  const std::size_t used = size();
  const std::size_t room = std::max({kFirstRoom, 2 * used, used + more});
  auto larger = std::make_unique_for_overwrite<char[]>(room);
  if (used > 0) std::memcpy(larger.get(), begin_.get(), used);
  begin_ = std::move(larger);
  at_ = begin_.get() + used;
  end_ = begin_.get() + room;
}

void JsonOut::long_number(std::uint64_t value) {
  reserve(kMostDigits);
  at_ = std::to_chars(at_, end_, value).ptr;
}

void JsonOut::number(std::int64_t value) {
  reserve(kMostDigits);
  at_ = std::to_chars(at_, end_, value).ptr;
}

void JsonOut::number(double value) {
  reserve(kMostDigits);
  at_ = std::to_chars(at_, end_, value).ptr;
}

void JsonOut::text(std::string_view text) {
  put('"');
  while (!text.empty()) {
    const auto plain = static_cast<std::size_t>(
        std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
    raw(text.substr(0, plain));
    text.remove_prefix(plain);
    if (!text.empty()) text = rare(text);
  }
  put('"');
}

// Writes the character that the text begins with, one that needs thought, and returns the rest.
std::string_view JsonOut::rare(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte >= 0x80) {
    const CodePoint point = first_code_point(text);
    raw(point.valid ? text.substr(0, point.bytes) : kReplacement);
    return text.substr(point.valid ? point.bytes : bad_part(text));
  }
  switch (byte) {
    case '"': raw("\\\""); break;
    case '\\': raw("\\\\"); break;
    case '\n': raw("\\n"); break;
    case '\t': raw("\\t"); break;
    default:
      raw("\\u00");
      put(kDigits[byte >> 4]);
      put(kDigits[byte & 0xf]);
  }
  return text.substr(1);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (!point.valid) return false;
    text.remove_prefix(point.bytes);
  }
  return true;
}

std::string rendering(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    out += point.valid ? text.substr(0, point.bytes) : kReplacement;
    text.remove_prefix(point.valid ? point.bytes : bad_part(text));
  }
  return out;
}

}  // namespace ctprof
