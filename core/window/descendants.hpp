// Marks the threads of a window that belong to the recorded command or descend from it.

#pragma once

#include <cstdint>

#include "core/snapshot/snapshot.hpp"
#include "core/window/make_window.hpp"

namespace ctprof {

// Identifies the command and its descendants.
struct Family {
  std::uint64_t command = 0;  // its pid
  // The process that adopts orphaned descendants, if no source reports forks; 0: none. Its own
  // children are excluded: they are in `before`, or started while `after` was read.
  std::uint64_t subreaper_pid = 0;
};

// Adds the column kDescendant to the threads of `after`, the snapshot at the end of the window.
// True for the command, for processes that it forked, for threads that were marked in `before` (the
// end of the previous window), and for the children of all of these. `exited`: the exits since
// `before`; a process can outlive its leader.
void mark_descendants(const Snapshot& before, Snapshot& after, const ExitedThreads& exited,
                      const Family& family);

}  // namespace ctprof
