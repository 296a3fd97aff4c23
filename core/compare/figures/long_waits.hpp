// Long waits: waits that cover at least half of the time, of threads that waited at most three
// times. Such a thread waited for work, independent of the function in which it waited, so the wait
// is idle.
//
// The time is the time that the recorder covered, otherwise the time between the two readings of
// threads. A thread whose number of waits is missing has no long wait.

#pragma once

#include <cstddef>
#include <optional>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

class LongWaits {
 public:
  // REQUIRES: the window contains differences and outlives this object.
  explicit LongWaits(const Snapshot& window);

  // Returns whether the thread waited at most three times.
  bool has_few_waits(std::size_t row) const;
  // Returns the minimum weight of a long wait's stack, in ns. Returns no value if the weights are
  // not times, or the length of the window is unknown.
  std::optional<double> min_weight_ns(const Column& stacks) const;

 private:
  const Snapshot* window_;
  const Column* switches_;  // null: unknown
};

}  // namespace ctprof
