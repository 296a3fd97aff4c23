// The thread pointers of running threads, by ptrace(2), so that none of them is harmed.
//
// PTRACE_SEIZE, INTERRUPT, wait, GETREGSET, DETACH; a window of several threads is on its way at a time, since most of the time goes into
// waiting for them to stop. A thread is let go as soon as its registers are read.
//
// Why no target is harmed, whatever happens:
//   - The tracer is a thread of its own that ends with the call. The kernel releases what a tracer still holds when it ends, drops an
//     interruption that did not take effect yet, and lets stopped threads run; so it is with ours when ctprof is killed. That is also how
//     a thread gets free that does not stop in time (in uninterruptible sleep, say), for it cannot be detached.
//   - A signal that arrives meanwhile is handed back when the thread is detached; it is looked at without being taken (WNOWAIT), so
//     that the kernel still delivers it if we are killed in between.
//   - A thread in a group stop stays in it: the kernel stops it again when it is detached.
//   - An execve(2) waits until the dead threads of its process are collected, and a SEIZE waits for that execve. Who calls us
//     therefore collects dead threads while the tracer hangs. Leaders are left alone: their status is for their parents.
//
// What remains is that of any debugger: a few blocking system calls, epoll_wait(2) for one, end with EINTR.
//
// What is here:   thread pointers of this machine's native programs.
// What is not:    who is stopped and should be left alone (jemalloc_ptrace.cc), the memory behind a pointer (counters_read.hpp).

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

#include "plugins/jemalloc-ptrace/step.hpp"

namespace ctprof::jemalloc {

struct Tracee {
  pid_t tgid = 0;
  pid_t tid = 0;
  std::uint64_t pointer = 0;  // x86_64: fs base; aarch64: tpidr_el0
  Outcome outcome;
};

// Fills in pointers or outcomes. Returns the longest that a thread was held up, in nanoseconds. None of the threads may be our own
// process's. ETIMEDOUT: it did not stop in time; ESRCH: it ended. `proc` is the open directory /proc.
std::uint64_t read_thread_pointers(int proc, std::span<Tracee> tracees);

}  // namespace ctprof::jemalloc
