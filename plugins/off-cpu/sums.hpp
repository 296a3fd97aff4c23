// What happened to a thread in a window, from what is known of the thread. Pure.

#pragma once

#include <cstdint>

#include "plugins/off-cpu/told.h"

namespace ctprof::off_cpu {

// All times are of CLOCK_MONOTONIC.
struct Span {
  std::uint32_t number = 0;
  std::uint64_t opened_ns = 0;
  std::uint64_t ended_ns = 0;
};

struct Happened {
  off_sums sums{};
  std::uint64_t wall_ns = 0;  // for how long the thread was there
  std::uint64_t going_on_ns =
      0;  // of the wait that went on at the end: what no stack is charged for

  std::uint64_t off_cpu_ns() const {
    return sums.ns[OFF_SLEEPS] + sums.ns[OFF_BLOCKED] + sums.ns[OFF_QUEUED] +
           sums.ns[OFF_PREEMPTED];
  }
  // What all stacks together weigh.
  std::uint64_t stacks_ns(bool all_waits) const {
    return all_waits ? off_cpu_ns() : sums.ns[OFF_SLEEPS] + sums.ns[OFF_BLOCKED];
  }
  // By how much running and waiting differ from the time that there was.
  std::int64_t error_ns() const {
    return static_cast<std::int64_t>(off_cpu_ns() + sums.ns[OFF_RUNS] - wall_ns);
  }
};

// Of a thread that was known like that after the window's end, or when it ended inside, which then
// is the end of the span.
Happened happened_in(const Span& span, const off_thread& thread, bool all_waits);

}  // namespace ctprof::off_cpu
