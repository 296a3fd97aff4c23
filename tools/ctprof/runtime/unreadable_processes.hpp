// Describes data that a capture lacks: processes that could not be read, and metrics that the level
// left out. The processes are named only with -v, because a busy host has many and the file records
// the gap of each cell anyway.

#pragma once

#include <string>
#include <vector>

#include "core/snapshot/snapshot.hpp"

namespace ctprof::cli {

// Returns one sentence for each plugin and gap. It lists the processes of which no thread has a
// value and at least one thread has that gap, although the metric is readable on this host:
//
//   jemalloc-ptrace: allocated_bytes and 1 other metric: Unsupported for redis[812], envoy[99]
//
// Exited threads and values that do not apply to a process (NotApplicable) are not failures. The
// notes of the sources report how often reading a process failed.
std::vector<std::string> describe_unreadable_processes(const Snapshot& snapshot);

// "; without 3 expensive metrics (--level full)": the metrics that the level left out, for the last
// line of a command. Empty if none were.
std::string describe_omitted_metrics(const Meta& meta);

}  // namespace ctprof::cli
