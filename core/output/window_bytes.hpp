// An output window as bytes, for the process of an output plugin. Both ends are the same program,
// so the format has no version.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/output/output_window.hpp"

namespace ctprof {

std::string encode_window(const OutputWindow& window);
// Returns none if the bytes are not a whole window.
std::optional<OutputWindow> decode_window(std::string_view bytes);

}  // namespace ctprof
