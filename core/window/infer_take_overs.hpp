// Finds threads that took their leader's place by exec where no source reported it.
//
// When a thread that is not the leader of its process calls exec, the kernel ends all other threads
// and gives it the leader's id and start time. Without a report the row of the leader would
// be compared with the old leader's counters, and the other thread's whole life would count for the
// window.
//
// Where the ends of all threads are known, an exec follows from them: the leader ended, and its
// name lives on. The thread that took over is the one of the process that neither lives nor ended.
// Elsewhere (two snapshots) counters decide: one that fell, or a thread that ran and waited for
// more than the time between its readings, cannot be the leader's. The thread whose counters fit
// takes its place. Where several threads fit, the base is unknown, never a guess.
//
// See also: same_rows.hpp (applies take-overs), make_window.hpp.

#pragma once

#include "core/window/make_window.hpp"

namespace ctprof {

// Adds what it finds to Ended::took_over, in order of time. An entry without tid and start time
// is a take-over by an unknown thread; one without tid by a thread that started inside. Processes
// of which a take-over was reported stay as they are.
void infer_take_overs(const Snapshot& before, const Snapshot& after, Ended& ended);

}  // namespace ctprof
