// What the sources have to say once a capture is over: their objects in the file, and sentences for
// the user.

#pragma once

#include <deque>

#include "core/capture/source_run.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Notes, a sentence for each reason, the columns that nobody fills but somebody could: for want of
// a permission, or behind a switch.
void note_within_reach(Snapshot& snapshot);

// Ends every source, notes its cost, and lets it speak.
void summarise(std::deque<SourceRun>& sources, Snapshot& snapshot);

}  // namespace ctprof
