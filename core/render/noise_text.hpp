// Formats noise as text and JSON: how much the runs of one condition vary, and which shifts a
// comparison of such runs could detect.
//
// See also: compare/report/noise.hpp (the figures).

#pragma once

#include <string>
#include <string_view>

#include "core/compare/report/noise.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// `files` is the user's name of the runs; `limit` counts rows, 0 means all.
std::string format_noise_text(const Report& report, const Noise& noise, std::string_view files,
                              const TextLayout& layout, std::size_t limit);
// The schema describes the members.
std::string format_noise_json(const Report& report, const Noise& noise, std::string_view files,
                              std::size_t limit);

}  // namespace ctprof
