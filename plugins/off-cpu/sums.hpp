// Computes the sums of a thread over a window from its state. Pure functions.

#pragma once

#include <cstdint>

#include "plugins/off-cpu/told.h"

namespace ctprof::off_cpu {

// A window. All times are on CLOCK_MONOTONIC.
struct Span {
  std::uint32_t number = 0;
  std::uint64_t opened_ns = 0;
  std::uint64_t ended_ns = 0;
};

struct Happened {
  off_sums sums{};
  std::uint64_t wall_ns = 0;  // how long the thread existed
  std::uint64_t going_on_ns =
      0;  // the part of the unfinished wait at the end that no stack is charged with

  std::uint64_t off_cpu_ns() const {
    return sums.ns[OFF_SLEEPS] + sums.ns[OFF_BLOCKED] + sums.ns[OFF_QUEUED] +
           sums.ns[OFF_PREEMPTED];
  }
  // Returns the total weight of all stacks.
  std::uint64_t stacks_ns(bool all_waits) const {
    return all_waits ? off_cpu_ns() : sums.ns[OFF_SLEEPS] + sums.ns[OFF_BLOCKED];
  }
  // Returns the difference between running plus waiting time and wall time.
  std::int64_t error_ns() const {
    return static_cast<std::int64_t>(off_cpu_ns() + sums.ns[OFF_RUNS] - wall_ns);
  }
};

// Returns the sums for a window. `thread` is the state after the end of the window, or at the exit
// of the thread; then the exit is the end of the span.
Happened happened_in(const Span& span, const off_thread& thread, bool all_waits);

}  // namespace ctprof::off_cpu
