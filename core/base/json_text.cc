#include "core/base/json_text.hpp"

#include "core/base/utf8.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

void append_unit(std::string& out, char32_t unit) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[unit >> shift & 0xf];
}

// As UTF-16, which JSON's escapes are: beyond the first plane two of them.
void append_escaped(std::string& out, char32_t point) {
  if (point < 0x10000) return append_unit(out, point);
  append_unit(out, 0xd800 + ((point - 0x10000) >> 10));
  append_unit(out, 0xdc00 + ((point - 0x10000) & 0x3ff));
}

void append_ascii(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\t': out += "\\t"; return;
    case '\r': out += "\\r"; return;
    default: break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20 || byte == 0x7f) return append_escaped(out, byte);
  out += c;
}

}  // namespace

void append_json(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (!point.valid)
      out += kReplacement;
    else if (point.bytes == 1)
      append_ascii(out, text.front());
    else if (!is_showable(point.value))
      append_escaped(out, point.value);
    else
      out += text.substr(0, point.bytes);
    text.remove_prefix(point.valid ? point.bytes : bad_part(text));
  }
  out += '"';
}

void append_made_json(std::string& out, std::string_view json) {
  for (; !json.empty();) {
    const CodePoint point = first_code_point(json);
    if (point.valid && !is_showable(point.value))
      append_escaped(out, point.value);
    else
      out += json.substr(0, point.bytes);
    json.remove_prefix(point.bytes);
  }
}

}  // namespace ctprof
