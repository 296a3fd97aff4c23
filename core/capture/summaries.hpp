// What the sources have to say once a capture is over: their objects in the file, and sentences for the user.

#pragma once

#include <deque>

#include "core/capture/source_run.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Ends every source, notes its cost, and lets it speak.
void summarise(std::deque<SourceRun>& sources, Snapshot& snapshot);

}  // namespace ctprof
