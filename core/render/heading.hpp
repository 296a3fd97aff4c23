// The head of a report: which files were read, where and when they were captured, how they are
// related, and how their hosts differ.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

std::string heading(const Report& report, std::span<const std::string> files,
                    const TextLayout& layout);

// Which plugin filled what in place of ctprof's own sources, as a sentence without a full stop. It
// can contain any bytes from the file.
std::string takeover_in_words(const Takeover& takeover);
// "2026-07-31 12:00:00Z"
std::string utc(std::uint64_t unix_ns);
// "1 thread", "12 threads"
std::string counted(std::uint64_t count, const std::string& noun);

// How the hosts differ, as a few lines: kernel, command line, tunables, CPU and memory first. JSON
// has all differences. Empty if there are none.
std::string host_text(const Report& report, const TextLayout& layout);

}  // namespace ctprof
