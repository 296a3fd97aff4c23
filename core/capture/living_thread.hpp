// The thread of a process through which its memory, program and root directory can be read.
//
// See also: ctprof/other_threads.hpp (why the main thread may not show them).
//
// Threads: any.

#pragma once

#include <cstdint>

namespace ctprof {

// The number of the process while its main thread lives, else that of another thread that lives;
// the number of the process if there is none, or if ctprof may not look into the process. `proc`:
// the open directory /proc.
std::uint64_t living_thread(int proc, std::uint64_t tgid);

}  // namespace ctprof
