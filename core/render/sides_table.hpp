// Formats the table of sides: a row for each side, with its file, host, time of capture and
// threads; for windows also the numbers of started and exited threads, and the length.
//
// For a side with several runs, the threads are those of the first run; other columns show the
// range from minimum to maximum over all runs.

#pragma once

#include <span>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// `files`: a name for each side.
std::string format_sides_table(const Report& report, std::span<const std::string> files,
                               const TextLayout& layout);

// Returns the number of runs and, for windows, their lengths: "8 of 4.9 s to 5.1 s"; empty for one
// snapshot.
std::string describe_runs(std::span<const RunFacts> runs);

// Returns "a", or "a and 2 others" if the runs are from several hosts.
std::string describe_hosts(std::span<const RunFacts> runs);

}  // namespace ctprof
