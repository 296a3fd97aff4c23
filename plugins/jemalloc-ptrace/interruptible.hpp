// A system call that may block for ever, called so that another thread can
// end it.
//
// PTRACE_SEIZE waits for an execve(2) of the target's process, which waits for the file system that
// its program is on; and a signal alone does not end it, for the kernel begins it anew. So the
// handler of the signal leaps out of the call. Whether it took effect is not known then. The
// handler is there only while it is needed, since the signal (SIGURG, which is ignored by default)
// may be the application's.
//
// What is here:   calling, how long the call has lasted, ending it.
// What is not:    what is called, and when there was enough of it: thread_pointers.cc.

#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace ctprof::jemalloc {

class Interruptible {
 public:
  // Calls ptrace(PTRACE_SEIZE) of the thread: 0, an errno, or EINTR when it was ended.
  int seize(int tid);

  // By another thread: since when it is being called, on the monotonic clock in ns; 0: it is not.
  std::uint64_t since() const { return since_ns_; }
  // By another thread: ends the call that `caller` is in. It is over when since() changes.
  void interrupt(pthread_t caller) const;

  // To be called by each thread that seizes, with all signals blocked otherwise.
  static void prepare_thread();

 private:
  std::atomic<std::uint64_t> since_ns_{0};
};

}  // namespace ctprof::jemalloc
