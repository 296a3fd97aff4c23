// What a capture has not: processes that could not be read, named on request (-v), for a busy host
// has many, and the file gives the gap of each cell anyway; and metrics that its level left out.

#pragma once

#include <string>
#include <vector>

#include "core/snapshot/snapshot.hpp"

namespace ctprof::cli {

// For each plugin and gap one sentence with the processes of which no thread has a value and at
// least one has that gap, though the metric could be read here:
//
//   jemalloc-ptrace: allocated_bytes and 1 other metric: Unsupported for redis[812], envoy[99]
//
// Ended threads and what cannot be had of a process (NotApplicable) are no failures. What was asked
// of the processes, and how often it failed, is in the sources' own notes.
std::vector<std::string> unread_processes(const Snapshot& snapshot);

// "; without 3 costly metrics (--level full)": what the level left out, for the line that a verb
// ends with; empty if nothing was.
std::string without_costly(const Meta& meta);

}  // namespace ctprof::cli
