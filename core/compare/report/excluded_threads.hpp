// Finds the processes that ran most among the threads that --where excludes.
//
// A group that --where keeps may wait for a CPU because of other groups. A finding names those, too
// (row_findings.cc).

#pragma once

#include <string>
#include <vector>

#include "core/compare/grouping/row_grouper.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// All excluded threads of processes with the same name.
struct ExcludedProcesses {
  std::string name;
  double run_ns = 0;
};

// Returns at most three, the busiest first; empty if `kept_rows` is, which keeps all threads. The
// threads of the recording itself do not count. REQUIRES: a window of differences.
std::vector<ExcludedProcesses> find_busiest_excluded(const Snapshot& window,
                                                     const KeptRows& kept_rows);

}  // namespace ctprof
