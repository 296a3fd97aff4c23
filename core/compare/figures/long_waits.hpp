// Long waits: waits that make up half of the time, of threads that waited three times at most. Such
// a thread waited for something to do, whichever function it waited in, so the wait is idle.
//
// The time is that which the recorder covered, otherwise that between the two readings of threads.
// Of a thread whose number of waits is missing, no wait is long.

#pragma once

#include <cstddef>
#include <optional>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

class LongWaits {
 public:
  // REQUIRES: differences were made of the window, which outlives this.
  explicit LongWaits(const Snapshot& window);

  // Whether the thread waited three times at most.
  bool waits_rarely(std::size_t row) const;
  // The weight from which on a stack of such a thread is a long wait, in ns. None where the weights
  // are no times, or the length of the window is unknown.
  std::optional<double> least_ns(const Column& stacks) const;

 private:
  const Snapshot* window_;
  const Column* switches_;  // null: unknown
};

}  // namespace ctprof
