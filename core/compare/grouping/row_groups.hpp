// The groups of the rows of one run (row_grouper.hpp), and how rows of its opening are regrouped.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// The group of a row that is not counted anywhere; rules use the same value (abi.h, ctprof_rows).
inline constexpr std::uint32_t kNoGroup = UINT32_MAX;

// The groups of one run, numbered from 0.
struct RunGroups {
  std::vector<std::uint32_t> keys;  // the key number of each group in the grouper
  std::array<std::vector<std::uint32_t>, kEntities> rows_of;  // the number of rows of each group

  // The number of threads of each group. A group of a single process has the threads of that
  // process.
  std::vector<std::uint64_t> threads;

  // Returns the number of groups for metrics of this entity.
  std::size_t count(Entity entity) const { return entity == Entity::Host ? 1 : keys.size(); }
  std::uint32_t rows(Entity entity, std::uint32_t group) const {
    return rows_of[static_cast<std::size_t>(entity)][group];
  }
};

// The groups of a run, and the group of each row of its snapshot.
struct RowGroups {
  RunGroups groups;
  std::array<std::vector<std::uint32_t>, kEntities> group_of_row;
  // The groups of rows that only the opening of a window has; also kNoGroup if no other row of the
  // run is in that group.
  std::array<std::vector<std::uint32_t>, kEntities> group_of_opening_row;
  bool opening_filter_is_known = true;  // false: it is unknown whether --where keeps those rows
};

// Converts the group numbers of rows to those of another run; kNoGroup where that run lacks the
// group.
decltype(RowGroups::group_of_row) renumber_groups(RowGroups rows, const RowGroups& run);

// Moves a thread that exited, and its process, to the group of its row in the window, independent
// of their names at the opening. With `by_text`, processes that exited are not moved: the opening
// contains their texts. REQUIRES: a window with rows that only its opening has.
void regroup_exited_threads(RowGroups& run, const Snapshot& snapshot, bool by_text);

}  // namespace ctprof
