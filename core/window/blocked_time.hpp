// The time in which threads of a window neither ran nor waited for a CPU.

#pragma once

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Returns the definition of the blocked time.
MetricDef blocked_time_metric();

// Adds the blocked times after the wait times, unless the file already has such a column or lacks
// the read times of threads.
// REQUIRES: snapshot.window, and the times are differences.
void add_blocked_time(Snapshot& snapshot);

}  // namespace ctprof
