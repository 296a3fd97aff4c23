#include "core/base/json_text.hpp"

#include "core/base/utf8.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

void append_escaped(std::string& out, unsigned char control) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u00";
  out += kDigits[control >> 4];
  out += kDigits[control & 0xf];
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
    else
      out += text.substr(0, point.bytes);
    text.remove_prefix(point.valid ? point.bytes : bad_part(text));
  }
  out += '"';
}

}  // namespace ctprof
