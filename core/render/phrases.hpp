// Short texts that several renderers share.

#pragma once

#include <cstdint>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// "2026-07-31 12:00:00Z"
std::string format_utc(std::uint64_t unix_ns);
// Describes which plugin filled metrics in place of ctprof's own sources, as a sentence without a
// full stop. The text may contain arbitrary bytes from the file.
std::string describe_takeover(const Takeover& takeover);

}  // namespace ctprof
