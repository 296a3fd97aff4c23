// Finds threads that replaced their leader by exec where no source reported it.
//
// If a thread that is not the leader calls exec, the kernel kills all other threads of its process
// and gives the thread the leader's id and start time. Without a report, the row of the leader
// would be compared with the old leader's counters, and the whole life of the other thread would
// count for the window.
//
// If the exits of all threads are known, an exec follows from them: the leader exited, but its id
// still exists. The thread that called exec is the one that neither lives nor exited. Otherwise
// (two snapshots) counters decide. If a counter decreased, or if the thread ran and waited for
// longer than the time between its readings, the reading is not the old leader's. The thread with
// matching counters replaces it. If several threads match, the base is unknown, never a guess.
//
// See also: match_rows.hpp (applies execs), make_window.hpp.

#pragma once

#include "core/window/exited_threads.hpp"

namespace ctprof {

// Adds the found execs to ExitedThreads::execs, in order of time. An entry without tid and start
// time is an exec by an unknown thread; one without tid is by a thread that started in the window.
// Skips processes with a reported exec.
void infer_execs(const Snapshot& before, const Snapshot& after, ExitedThreads& exited);

}  // namespace ctprof
