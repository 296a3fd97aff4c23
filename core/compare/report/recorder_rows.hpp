// Finds the threads of a window that belong to the recording process or its helpers: child
// processes that do not belong to the recorded command.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

class RecorderRows {
 public:
  // REQUIRES: the snapshot is a window, and outlives this object.
  explicit RecorderRows(const Snapshot& snapshot);
  bool contains(std::size_t row) const;

 private:
  const Column *tgids_, *parents_, *descendants_;
  std::optional<std::uint64_t> recorder_tgid_;
};

// Returns false for a null column and for a gap.
bool is_flag_set(const Column* flag, std::size_t row);

}  // namespace ctprof
