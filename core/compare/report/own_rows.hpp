// Which threads of a window are of the process that recorded, or of its helpers: children of it
// that are not of the command.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

class OwnRows {
 public:
  // REQUIRES: a window, which outlives this.
  explicit OwnRows(const Snapshot& snapshot);
  bool contains(std::size_t row) const;

 private:
  const Column *tgids_, *parents_, *descendants_;
  std::optional<std::uint64_t> own_;
};

// False of a null column, and of a gap.
bool is_flag_set(const Column* flag, std::size_t row);

}  // namespace ctprof
