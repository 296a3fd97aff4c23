// What a window comes to as a whole: who came and went, which threads have no difference, and who
// used the host's CPU time.
//
//   busy = CPUs * wall time - idle - iowait, less what the kernel keeps out of threads' clocks
//        = by living threads + by threads that ended + not explained
//
// The host's figures are found by their roles. Idle time is counted in ticks of USER_HZ, so what is
// not explained can be off by a tick for each CPU and second. Threads are not read at the instants
// at which the host is: their shares are taken over the time between their own readings.
//
// Less than nothing is left where many threads wake halted CPUs: the kernel stamps a thread's start
// when it is woken (rq_clock_skip_update() in wakeup_preempt(), kernel/sched/core.c) and ends the
// idle time when the CPU has come up, so the way between is counted twice. In virtual machines that
// was 3 to 12 % of the busy time under a storm of forks, and nothing once no CPU was halted.

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
  double busy = 0;  // that threads used, as the host counts it
  double living = 0, ended = 0;
  double unexplained = 0;  // below zero: threads were counted more than the host was
  double error = 0;        // what the counting in ticks can be off by, either way
  double steal = 0, interrupts = 0;
  bool steal_apart = false, interrupts_apart = false;  // they are no part of `busy`
};

// Threads that came and went, and those without differences.
struct WindowRows {
  std::uint64_t before = 0, after = 0;
  std::uint64_t born = 0;   // those that ended again included
  std::uint64_t ended = 0;  // that stand in rows
  std::uint64_t unmet = 0;  // were there when the window opened, and were not met: NoBase
  // Ran or waited for a CPU at an end, and nobody could tell for how long: their time is NoBase.
  std::uint64_t in_progress = 0;
  std::vector<std::string> unread;  // metrics that were not read when the window opened: NoBase
};

// The mean time between both readings of the threads that were there throughout, in ns; 0 if it is
// not known. On a busy host it may be much more than the window's length, and much less.
double mean_time_of_threads(const Window& window);
// How long a recorded column of a window covers its threads, in ns (StackTally::covered_ns); none:
// as long as they were there.
std::optional<std::uint64_t> covered_ns(const Snapshot& snapshot, const Column& column);
// None where the snapshot lacks a figure that it takes. REQUIRES: to_differences() was called.
std::optional<Accounting> account(const Snapshot& window);
// REQUIRES: the same.
WindowRows count_rows(const Snapshot& window);

}  // namespace ctprof
