// Which threads of a window are of the command that was recorded, or descend from it.

#pragma once

#include <cstdint>

#include "core/snapshot/snapshot.hpp"
#include "core/window/make_window.hpp"

namespace ctprof {

// What is known of the command's family.
struct Family {
  std::uint64_t command = 0;  // its process
  // The process to which orphans of the family fall, if no source saw forks; 0: none. Its own
  // children are those that `before` has, and those that were born while `after` was read.
  std::uint64_t adopter = 0;
};

// Adds the column kDescendant to the threads of `after`, the snapshot at the window's end: true for
// the command, for what was born of it, for who was marked in `before`, where the previous window
// ended, and for all whose parents are that. `ended`: what was told since `before`; a process may
// go on when its leader has ended.
void mark_descendants(const Snapshot& before, Snapshot& after, const Ended& ended,
                      const Family& family);

}  // namespace ctprof
