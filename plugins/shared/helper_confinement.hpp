// What a helper process gives up before it looks at anything foreign: see helper_process.hpp.
//
// What is here:   descriptors, signals, limits, capabilities of this process.
// What is not:    forking, talking to the parent.

#pragma once

#include <cstdint>

namespace ctprof {

struct HelperFds {
  int socket;
  int proc;
};

// Keeps a copy of the socket and an /proc opened anew, closes all other descriptors, and puts
// /dev/null in place of the first three; where there is none, the directory, which cannot be read
// or written. {-1, -1} and an errno where that fails.
HelperFds close_all_but(int socket, int proc);

// No handlers, nothing blocked; a session of its own, where no terminal reaches it.
void forget_signals();

// No core dump, no file written, limits on CPU time and memory, no rights gained by exec, no
// tracing by its user, and only the capabilities for reading other processes.
void give_up_rights(unsigned cpu_seconds, std::uint64_t more_memory);

}  // namespace ctprof
