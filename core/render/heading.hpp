// What a report is about: the files, where and when they were made, and how they stand to each
// other.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/text_table.hpp"

namespace ctprof {

std::string heading(const Report& report, std::span<const std::string> files,
                    const TextLayout& layout);

// Who filled what in our place, as a sentence without a full stop. It may hold any bytes that a
// file does.
std::string takeover_in_words(const Takeover& takeover);
// "2026-07-31 12:00:00Z"
std::string utc(std::uint64_t unix_ns);
// "1 thread", "12 threads"
std::string counted(std::uint64_t count, const std::string& noun);

}  // namespace ctprof
