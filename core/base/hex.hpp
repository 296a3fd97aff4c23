// Bytes as hexadecimal text, two lower-case digits each, and back.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ctprof {

std::string hex(std::string_view bytes);
// Nothing where the text is no such thing.
std::optional<std::string> unhex(std::string_view text);

}  // namespace ctprof
