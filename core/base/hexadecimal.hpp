// Bytes as hexadecimal digits. Plugins use it without linking the core, so it has no source file.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ctprof {

inline constexpr std::string_view kHexadecimalDigits = "0123456789abcdef";

// Returns two lower-case digits per byte.
inline std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kHexadecimalDigits[byte >> 4];
    text += kHexadecimalDigits[byte & 0xf];
  }
  return text;
}

// Returns the bytes; nullopt for any other text.
inline std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto high = kHexadecimalDigits.find(text[i]), low = kHexadecimalDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

}  // namespace ctprof
