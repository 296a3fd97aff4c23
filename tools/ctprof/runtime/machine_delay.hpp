// Detects whether the machine, rather than the running code, used the elapsed time: the thread
// waited for a CPU, or the process read from a disk.
//
//   machine_delay.begin();                      // in the thread that is timed
//   if (machine_delay.was_delayed(min_wait_ns)) // the elapsed time is not that of the code
//
// Every function is safe in a signal handler. begin() makes two system calls.

#pragma once

#include <sys/types.h>

#include <cstdint>

namespace ctprof::cli {

class MachineDelay {
 public:
  // Starts to observe the calling thread.
  void begin();

  // Whether, since begin() or the last call, the thread waited for a CPU for `min_wait_ns` ns or
  // longer (/proc/PID/task/TID/schedstat, second value), or this process read from a disk
  // (getrusage: major faults, blocks). False if the kernel does not report these values. Preserves
  // errno.
  bool was_delayed(std::uint64_t min_wait_ns);

 private:
  pid_t thread_ = 0;
  std::uint64_t cpu_wait_ns_ = 0;  // ns
  long disk_reads_ = 0;
};

}  // namespace ctprof::cli
