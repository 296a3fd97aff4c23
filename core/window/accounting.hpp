// Accounts for a window as a whole: counts threads that started and exited and threads without
// differences, and divides the host's CPU time.
//
//   busy = CPUs * wall time - idle - iowait, less time that the kernel does not charge to threads
//        = living threads + exited threads + unaccounted time
//
// Metrics of the host are found by role. Idle time is counted in ticks of USER_HZ, so the
// unaccounted time can be wrong by one tick per CPU and second. Threads and host are not read at
// the same time: the shares of threads are relative to the time between their own readings.
//
// Unaccounted time is negative if many threads wake halted CPUs: the kernel stamps the start of a
// thread at its wakeup (rq_clock_skip_update() in wakeup_preempt(), kernel/sched/core.c), but ends
// the idle time when the CPU is up, so the time in between counts twice. In virtual machines this
// was 3 to 12 % of the busy time under a storm of forks, and zero without halted CPUs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// CPU time of the host, in ns.
struct Accounting {
  std::uint64_t cpus = 0;
  double wall = 0;  // between the two readings of the host
  double busy = 0;  // used by threads, as the host counts it
  double living = 0, exited = 0;
  double unaccounted = 0;  // negative: threads were charged more than the host
  double max_error = 0;    // largest error of counting in ticks, in either direction
  double steal = 0, interrupts = 0;
  bool is_steal_separate = false, are_interrupts_separate = false;  // true: not included in `busy`
};

// Numbers of threads that started or exited, and of threads without differences.
struct WindowRows {
  std::uint64_t before = 0, after = 0;
  std::uint64_t started = 0;         // including those that exited again
  std::uint64_t exited = 0;          // exited threads that have rows
  std::uint64_t not_in_opening = 0;  // existed at the opening, but were not read then: NoBase
  // Threads that ran or waited for a CPU at an end of the window for an unknown time: their run or
  // wait time is NoBase.
  std::uint64_t in_progress = 0;
  // Metrics that were not read at the opening: NoBase.
  std::vector<std::string> metrics_not_in_opening;
};

// Returns the mean time between both readings of the threads that existed throughout, in ns; 0 if
// it is unknown. On a busy host it can be much longer or shorter than the window.
double mean_thread_time_ns(const Window& window);
// Returns how long a recorded column of a window covers its threads, in ns
// (StackTally::covered_ns); nullopt: for as long as they existed.
std::optional<std::uint64_t> covered_ns(const Snapshot& snapshot, const Column& column);
// Returns nullopt if the snapshot lacks a required metric. REQUIRES: convert_to_differences() was
// called.
std::optional<Accounting> compute_accounting(const Snapshot& window);
// REQUIRES: convert_to_differences() was called.
WindowRows count_rows(const Snapshot& window);

}  // namespace ctprof
