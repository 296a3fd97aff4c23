// Noise as text and as JSON: how much the runs of one condition waver, and what they could show.
//
// Not here: the figures (compare/report/noise.hpp).

#pragma once

#include <string>
#include <string_view>

#include "core/compare/report/noise.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// `files` is what the user called the runs; `limit` counts rows, 0 means all.
std::string noise_text(const Report& report, const Noise& noise, std::string_view files,
                       const TextLayout& layout, std::size_t limit);
// Its members are described in the schema.
std::string noise_json(const Report& report, const Noise& noise, std::string_view files,
                       std::size_t limit);

}  // namespace ctprof
