// What happened in a window: its columns as differences.
//
// A column that counts up becomes what it counted between the two ends, from zero where the row was
// born inside. What its base is not known for is NoBase, what fell is WentBackwards. Maps are
// subtracted key by key, as their definition says which keys count up, and arrays by element.
// Gauges, limits and texts stay as they were at the end; what they were at the beginning stays
// beside them (Window::openings). A peak is one of a whole life, and stays.
//
// The time that a thread was just running or waiting at either end, which the kernel has not added
// to its counters yet, is added here, by the roles of metrics (ctprof/roles.hpp). Where nobody
// could tell, a thread that was running or waiting has NoBase in these.
//
// Threads: one. The snapshot is changed in place; it keeps its pools.

#pragma once

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Whether a difference of two readings of the metric says what happened between them.
bool counts_up(const MetricDef& def);

// REQUIRES: snapshot.window. Afterwards a second call would subtract again.
void to_differences(Snapshot& snapshot);

// Leaves the snapshot that was taken when the window closed: what it was at the opening goes, and
// so do the threads that had ended by then. REQUIRES: snapshot.window.
void to_end(Snapshot& snapshot);

}  // namespace ctprof
