// Which rows of two snapshots of one boot are the same thing.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

inline constexpr std::uint32_t kNoRow = UINT32_MAX;

// What a row was before.
struct Earlier {
  std::uint32_t row = kNoRow;  // of the snapshot before
  bool born = false;           // there was none, for it was born since
};

// For each row of `after`'s table, what it was in `before`. Threads are told by tid and start time;
// processes by tgid and their leader's start; cgroups by path, and by id where both snapshots have
// ids; the host is the host. A row of which there was none, and which is not known to be born
// since, may have been there unseen.
//
// `ended_at` are the last rows of the thread table, which had ended at those times on
// CLOCK_BOOTTIME; `took_over` is in the order in which it happened.
std::vector<Earlier> same_rows(const Snapshot& before, const Snapshot& after, Entity entity,
                               std::span<const TookOver> took_over,
                               std::span<const std::uint64_t> ended_at);

// Whether the snapshot has the ids of cgroups, and with them all cgroups that there were.
bool knows_all_cgroups(const Snapshot& snapshot);

}  // namespace ctprof
