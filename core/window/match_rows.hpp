// Matches the rows of two snapshots of the same boot.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

inline constexpr std::uint32_t kNoRow = UINT32_MAX;

// The row of an earlier snapshot that matches a row.
struct RowMatch {
  std::uint32_t row = kNoRow;  // in the earlier snapshot
  bool is_new = false;         // no match, because the row is new
};

// Returns the match in `before` of each row of `after`'s table. Threads match by tid and start
// time; processes by tgid and their leader's start; cgroups by path, and by id if both snapshots
// have ids; rows of entities of plugins by their identity columns. A row without a match that is
// not known to be new may have existed without being read.
//
// The last rows of the thread table exited at `exit_ns`, on CLOCK_BOOTTIME; `execs` is in
// order of time.
std::vector<RowMatch> match_rows(const Snapshot& before, const Snapshot& after, Entity entity,
                                 std::span<const LeaderReplacement> execs,
                                 std::span<const std::uint64_t> exit_ns);

// Returns whether the snapshot has the ids of cgroups, and therefore all existing cgroups.
bool has_all_cgroups(const Snapshot& snapshot);

}  // namespace ctprof
