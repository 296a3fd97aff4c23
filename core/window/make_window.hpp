// Makes a window from two snapshots of the same boot and the threads that exited in between.
//
//   Result<Snapshot> window = make_window(before, std::move(after), exited);
//
// For consecutive windows, make_consecutive_window() makes one, and closing_snapshot() is the
// opening of the next one.
//
// The window is the snapshot `after`, together with the earlier readings of its rows in `before`
// (Window::openings); exited threads follow the living ones. Nothing is subtracted yet (see
// differences.hpp), so that a file can store both ends.
//
// Rows match by identity: threads by tid and start time, processes by their leader, cgroups by path
// and id. A thread and the leader that it replaced by exec are one row.
//
// See also: differences.hpp; core/capture reads the two ends.

#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"
#include "core/window/exited_threads.hpp"

namespace ctprof {

// Fails if the snapshots are of different boots, or in the wrong order; the error contains
// `before_name` and `after_name`.
Result<Snapshot> make_window(const Snapshot& before, Snapshot after, ExitedThreads exited,
                             const std::string& before_name = "the first snapshot",
                             const std::string& after_name = "the second");
// Same, for a window that another one follows. Removes from `exited` the rows that belong to this
// window or to none. The remaining rows belong to the next window: zombies, and threads that exited
// after the end of this window.
Result<Snapshot> make_consecutive_window(const Snapshot& before, Snapshot after,
                                         ExitedThreads& exited,
                                         const std::string& before_name = "the first snapshot",
                                         const std::string& after_name = "the second");

// Returns the snapshot at the end of a window, without exited threads, opening readings and
// recorded columns. Returns a snapshot that is not a window unchanged.
Snapshot closing_snapshot(Snapshot window);

}  // namespace ctprof
