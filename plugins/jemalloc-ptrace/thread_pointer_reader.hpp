// Gets the thread pointers of running threads by ptrace(2), without harming them.
//
// PTRACE_SEIZE, INTERRUPT, wait, GETREGSET, DETACH. All threads are processed concurrently, because
// most of the time is spent waiting for them to stop; each is detached as soon as its registers are
// read, while later ones are still being interrupted.
//
// Reasons why no target is harmed:
//   - When the tracer ends, the kernel detaches its threads, drops an interruption that did not
//     take effect yet, and lets stopped threads run. This applies when ctprof is killed. It also
//     frees a thread that does not stop in time (for example in uninterruptible sleep), which
//     cannot be detached: the tracer is a thread of its own, and exits if it holds any at the end
//     of a call.
//   - A signal that arrives meanwhile is delivered when the thread is detached. The wait leaves it
//     in place (WNOWAIT), so that the kernel still delivers it if ctprof is killed in between.
//   - A thread in a group stop stays in it: the kernel stops it again when it is detached.
//   - An execve(2) waits until the dead threads of its process are reaped, and a SEIZE waits for
//     that execve. Therefore the caller reaps dead threads while the tracer blocks. It does
//     not reap leaders: their status is for their parents. If an execve waits for something else,
//     such as a file system that does not answer, the SEIZE is ended (interruptible.hpp), and the
//     other threads of the process are not stopped.
//
// One effect remains, as with any debugger: a few blocking system calls, such as epoll_wait(2), end
// with EINTR.
//
// It supports native programs of this machine.
// See also: jemalloc_ptrace.cc for stopped threads, which it skips, counter_reader.hpp for
// the memory behind a pointer.

#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>

#include "plugins/jemalloc-ptrace/interruptible.hpp"
#include "plugins/jemalloc-ptrace/outcome.hpp"

namespace ctprof::jemalloc {

struct Tracee {
  pid_t tgid = 0;
  pid_t tid = 0;
  std::uint64_t pointer = 0;  // x86_64: fs base; aarch64: tpidr_el0
  Outcome outcome;
};

// Keeps its tracer between calls. Each worker has one object.
class ThreadPointerReader {
 public:
  // `proc` is the open directory /proc.
  explicit ThreadPointerReader(int proc) : proc_(proc) {}
  ThreadPointerReader(const ThreadPointerReader&) = delete;
  ThreadPointerReader& operator=(const ThreadPointerReader&) = delete;
  ~ThreadPointerReader();

  // Fills in pointers or outcomes. Returns the longest stop of a thread, in nanoseconds. ETIMEDOUT:
  // the thread did not stop in time; ESRCH: it exited. REQUIRES: none of the threads belongs to our
  // own process.
  std::uint64_t read(std::span<Tracee> tracees);

 private:
  enum class Turn { Caller, Tracer, End };

  void trace();
  void set_turn(Turn turn);
  void check_tracer(std::span<Tracee> tracees);

  int proc_;
  std::thread tracer_;
  std::mutex mutex_;
  std::condition_variable turn_changed_;
  Turn turn_ = Turn::Caller;
  // For the current call.
  std::span<Tracee> tracees_;
  InterruptibleSeize seize_call_;
  std::uint64_t longest_stop_ns_ = 0;
  bool holds_threads_ = false;
};

}  // namespace ctprof::jemalloc
