// The thread pointers of running threads, by ptrace(2), so that none of them is harmed.
//
// PTRACE_SEIZE, INTERRUPT, wait, GETREGSET, DETACH. All threads are on their way at a time, since
// most of the time goes into waiting for them to stop; each is let go as soon as its registers are
// read, while later ones are still being interrupted.
//
// Why no target is harmed, whatever happens:
//   - The kernel releases what a tracer still holds when the tracer ends, drops an interruption
//   that did not take effect yet, and lets
//     stopped threads run. So it is when ctprof is killed; and so a thread gets free that does not
//     stop in time (in uninterruptible sleep, say), for it cannot be detached: the tracer is a
//     thread of its own, and ends when it holds any at the end of a call.
//   - A signal that arrives meanwhile is handed back when the thread is detached; it is looked at
//   without being taken (WNOWAIT), so
//     that the kernel still delivers it if we are killed in between.
//   - A thread in a group stop stays in it: the kernel stops it again when it is detached.
//   - An execve(2) waits until the dead threads of its process are collected, and a SEIZE waits for
//   that execve. Who calls us
//     therefore collects dead threads while the tracer hangs. Leaders are left alone: their status
//     is for their parents. An execve that waits for something else, a file system that does not
//     answer for one, is not waited for: the SEIZE is ended (interruptible.hpp), and the process's
//     threads are let alone.
//
// What remains is that of any debugger: a few blocking system calls, epoll_wait(2) for one, end
// with EINTR.
//
// What is here:   thread pointers of this machine's native programs.
// What is not:    who is stopped and should be left alone (jemalloc_ptrace.cc), the memory behind a
// pointer (counters_read.hpp).

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

// Keeps its tracer between calls. One per worker.
class ThreadPointers {
 public:
  // `proc` is the open directory /proc.
  explicit ThreadPointers(int proc) : proc_(proc) {}
  ThreadPointers(const ThreadPointers&) = delete;
  ThreadPointers& operator=(const ThreadPointers&) = delete;
  ~ThreadPointers();

  // Fills in pointers or outcomes. Returns the longest that a thread was held up, in nanoseconds.
  // None of the threads may be our own process's. ETIMEDOUT: it did not stop in time; ESRCH: it
  // ended.
  std::uint64_t read(std::span<Tracee> tracees);

 private:
  enum class Turn { Caller, Tracer, End };

  void trace();
  void hand_over(Turn turn);
  void look_after(std::span<Tracee> tracees);

  int proc_;
  std::thread tracer_;
  std::mutex mutex_;
  std::condition_variable turned_;
  Turn turn_ = Turn::Caller;
  // Of the call that is on.
  std::span<Tracee> tracees_;
  Interruptible seizing_;
  std::uint64_t longest_stop_ns_ = 0;
  bool holds_some_ = false;
};

}  // namespace ctprof::jemalloc
