// What the sources report once a capture is over: their objects in the file, and messages for the
// user.

#pragma once

#include <deque>

#include "core/capture/source_run.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Adds a note for each reason why columns stay empty that could be filled with a permission or by
// turning a switch.
void note_within_reach(Snapshot& snapshot);

// Finishes every source, records its cost, and calls its `summarise`. Sources of one plugin with
// the same summary key get one call, with their tallies added up.
void summarise(std::deque<SourceRun>& sources, Snapshot& snapshot);

}  // namespace ctprof
