// Which processes a capture could not read: named on request (`capture -v`), for a busy host has
// many and the file tells of each cell anyway.
//
// What is here:   the sentences.
// What is not:    what was asked of them and how often it failed: the sources' own notes.

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
// Ended threads and what cannot be had of a process (NotApplicable) are no failures.
std::vector<std::string> unread_processes(const Snapshot& snapshot);

}  // namespace ctprof::cli
