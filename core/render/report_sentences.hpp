// Formats the sentences of a report: how the hosts of its sides differ, renamed cgroups, metrics
// without values with reasons, and notes.
//
// See also: heading_text.hpp (which files were read, and how they are related).

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/text.hpp"
#include "core/compare/report/report.hpp"
#include "core/render/phrases.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// One difference between two hosts, printable. For command lines, each side has only the words that
// the other one lacks. Lines are ordered: kernel, command line, tunables, CPU and memory first.
struct HostDifferenceLine {
  std::string key, baseline, candidate;
};
std::vector<HostDifferenceLine> make_host_lines(std::vector<HostDifference> differences);

// Describes how the hosts differ in a few lines, in the order of make_host_lines(). JSON has all
// differences. Empty if there are none.
std::string format_host_differences(const Report& report, const TextLayout& layout);

// Both return the metrics without values and the reasons, the second also the notes: one sentence
// per line, wrapped at `width` (0: not wrapped). Empty if there are none.
std::string format_missing_metrics(const Report& report, std::size_t width);
std::string format_missing_metrics_and_notes(const Report& report, std::size_t width);

// Returns "cgroup '/a' of the baseline is '/b' in the candidate: 12 of 12 kinds of threads
// (100.0%)", and the differences between the two.
std::string describe_rename(const CgroupRename& rename);

// Returns the section about renamed cgroups, subject to the limit; empty if there are none.
std::string format_renames(const Report& report, const TextLayout& layout);

}  // namespace ctprof
