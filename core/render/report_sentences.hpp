// What a report tells in sentences: at its head which files were read, where and when they were
// captured, how they are related, and how their hosts differ; after the tables cgroups that were
// renamed, metrics without values and why, and notes.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

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

// A difference between two hosts as people read it, printable: of command lines the words that the
// other lacks. In the order in which they are told: kernel, command line, tunables, CPU and memory
// first.
struct HostLine {
  std::string key, baseline, candidate;
};
std::vector<HostLine> host_lines(std::vector<HostDifference> differences);

// How the hosts differ, as a few lines: kernel, command line, tunables, CPU and memory first. JSON
// has all differences. Empty if there are none.
std::string host_text(const Report& report, const TextLayout& layout);
// A line for each side that is of another boot than the first, or may be.
std::string other_boots(const Report& report);

// Metrics without values and why, and notes: one sentence a line, wrapped at `width` (0: never).
// Empty if there is nothing to say.
std::string leftovers(const Report& report, std::size_t width);

// "cgroup '/a' of the baseline is '/b' in the candidate: 12 of 12 kinds of threads (100.0%)", and
// how the two differ.
std::string rename_in_words(const CgroupRename& rename);

// The section on renamed cgroups, limited like any other; empty if there are none.
std::string renames_text(const Report& report, const TextLayout& layout);

}  // namespace ctprof
