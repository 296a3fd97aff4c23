// Computes the sums of a thread over a window from its state. Pure functions.

#pragma once

#include <cstdint>
#include <optional>

#include "plugins/off-cpu/shared_records.h"

namespace ctprof::off_cpu {

// A window. All times are on CLOCK_MONOTONIC.
struct WindowSpan {
  std::uint32_t number = 0;
  std::uint64_t opened_ns = 0;
  std::uint64_t ended_ns = 0;
};

struct WindowSums {
  off_sums sums{};
  std::uint64_t wall_ns = 0;  // how long the thread existed
  // The part of the unfinished wait at the end that no stack is charged with.
  std::uint64_t unfinished_wait_ns = 0;
  std::optional<off_histograms> histograms;  // if they are known

  std::uint64_t off_cpu_ns() const {
    return sums.ns[OFF_SLEEPING] + sums.ns[OFF_BLOCKED] + sums.ns[OFF_QUEUED] +
           sums.ns[OFF_PREEMPTED];
  }
  // Returns the total weight of all stacks.
  std::uint64_t stacks_ns(bool all_waits) const {
    return all_waits ? off_cpu_ns() : sums.ns[OFF_SLEEPING] + sums.ns[OFF_BLOCKED];
  }
  // Returns the difference between running plus waiting time and wall time.
  std::int64_t error_ns() const {
    return static_cast<std::int64_t>(off_cpu_ns() + sums.ns[OFF_RUNNING] - wall_ns);
  }
};

// Returns the sums for a window. `thread` is the state after the end of the window, or at the exit
// of the thread; then the exit is the end of the span. `histograms`: those of the thread at the
// same time; null: unknown.
WindowSums compute_window_sums(const WindowSpan& span, const off_thread& thread, bool all_waits,
                               const off_histogram_pair* histograms = nullptr);

}  // namespace ctprof::off_cpu
