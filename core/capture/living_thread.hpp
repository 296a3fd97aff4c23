// Finds the thread of a process through which its memory, program and root directory can be read.
//
// See also: ctprof/other_threads.hpp explains why the main thread may not show them.
//
// Threads: any.

#pragma once

#include <cstdint>

namespace ctprof {

// Returns the tgid while the main thread lives, else the tid of another living thread. Returns the
// tgid if there is none, or if ctprof may not read the process. `proc`: the open directory /proc.
std::uint64_t find_living_thread(int proc, std::uint64_t tgid);

}  // namespace ctprof
