// Confines a helper process before it reads foreign data: descriptors, signals, limits and
// capabilities.
//
// See also: helper_process.hpp for forking the helper and communicating with it.

#pragma once

#include <cstdint>

namespace ctprof {

struct HelperFds {
  int socket;
  int proc;
};

// Keeps a copy of the socket and a newly opened /proc, and closes all other descriptors. Replaces
// the first three by /dev/null, or, if that is missing, by the directory, which can be neither read
// nor written. Returns {-1, -1} and sets errno on failure.
HelperFds close_other_descriptors(int socket, int proc);

// Resets all signal handlers, unblocks all signals, and starts a session without a terminal.
void reset_signals();

// Disables core dumps, writing files, gaining privileges by exec, and tracing by the user. Limits
// CPU time and memory. Keeps only the capabilities for reading other processes.
void confine_process(unsigned cpu_seconds, std::uint64_t extra_memory);

}  // namespace ctprof
