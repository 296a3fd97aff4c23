// Whether the machine, rather than the code that runs, took the time: a thread that waits for a
// CPU, or for what is read from a disk, is not at fault.
//
//   held_up.begin();                            // the time starts, in the thread that is timed
//   if (held_up.since_asked()) ...              // it has passed: did the machine take it?
//
// Every function is safe in a signal handler. begin() costs two system calls.

#pragma once

#include <sys/types.h>

#include <cstdint>

namespace ctprof::cli {

class HeldUp {
 public:
  // From here on the calling thread is looked at.
  void begin();

  // Since begin(), or since the last call: did the thread wait for a CPU for `most` ns or longer
  // (/proc/PID/task/TID/schedstat, second figure), or did this process read from a disk
  // (getrusage: major faults, blocks)? False where the kernel does not tell. Keeps errno.
  bool since_asked(std::uint64_t most);

 private:
  pid_t thread_ = 0;
  std::uint64_t waited_ = 0;  // ns
  long read_ = 0;
};

}  // namespace ctprof::cli
