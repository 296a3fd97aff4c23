// Calls a system call that may block indefinitely, so that another thread can end it.
//
// PTRACE_SEIZE waits for an execve(2) of the target's process, which waits for the file system of
// its program. A signal alone does not end it, because the kernel restarts the call. Therefore the
// signal handler jumps out of the call. Then it is unknown whether the call took effect. The
// handler is installed only while it is needed, because the signal (SIGURG, which is ignored by
// default) may be used by the application.
//
// See also: thread_pointer_reader.cc, which decides when a call took too long.

#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace ctprof::jemalloc {

class InterruptibleSeize {
 public:
  // Calls ptrace(PTRACE_SEIZE) for the thread. Returns 0, an errno, or EINTR if the call was ended.
  int seize(int tid);

  // Called by another thread. Returns when the current call started, on the monotonic clock in ns;
  // 0: there is none.
  std::uint64_t start_ns() const { return start_ns_; }
  // Called by another thread. Ends the current call of `caller`; it has ended when since() changes.
  void interrupt(pthread_t caller) const;

  // Must be called by each thread that seizes, with all other signals blocked.
  static void prepare_thread();

 private:
  std::atomic<std::uint64_t> start_ns_{0};
};

}  // namespace ctprof::jemalloc
