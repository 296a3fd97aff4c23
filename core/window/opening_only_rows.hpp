// Rows of a window's opening that have no row at its end: threads and processes that exited, and
// cgroups that were removed. They hold identities, texts and gauges, so that the change of a group
// includes the rows that left it as well as those that joined it (Window::opening_only).
//
// See also: make_window.hpp (makes windows), join_windows.hpp (restores the beginning of a window).

#pragma once

#include <cstddef>
#include <span>

#include "core/snapshot/snapshot.hpp"
#include "core/window/match_rows.hpp"

namespace ctprof {

// Adds those rows of one entity to `opening_only`. `earlier`: for each row of `after` that is alive
// at the end, its row in `before`. Rows keep the order that they have in `before`. The host has
// none.
void add_opening_only_rows(Snapshot& opening_only, const Snapshot& before, const Snapshot& after,
                           Entity entity, std::span<const RowMatch> earlier);

// Adds to the beginning of a window the threads that only its opening had and that it lacks.
// Counters of added threads are ThreadGone. REQUIRES: `opening` is not a window; its threads are in
// (tgid, tid) order.
void restore_threads(Snapshot& opening, const Snapshot& opening_only);
// Fills the cells of exited processes, and adds removed cgroups. REQUIRES: restore_threads() was
// called, and the process rows are those of the threads.
void restore_processes_and_cgroups(Snapshot& opening, const Snapshot& opening_only);

}  // namespace ctprof
