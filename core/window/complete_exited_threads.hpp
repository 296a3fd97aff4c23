// Completes the rows of exited threads with data of other rows that their source lacks.
//
// See also: make_window.hpp, infer_execs.hpp.

#pragma once

#include <cstddef>

#include "core/window/exited_threads.hpp"

namespace ctprof {

// Fills in the exact start times, processes, process names and cgroups of exited threads. If the
// source has no cgroups (and only approximate start times), a thread that was never listed gets the
// cgroup of its process, else of the nearest listed ancestor process, because processes inherit it.
// Process 1 is excluded, because it starts services in cgroups of their own. Returns the number of
// threads that got the cgroup of an ancestor.
std::size_t complete_exited_threads(const Snapshot& before, const Snapshot& after,
                                    ExitedThreads& exited);

}  // namespace ctprof
