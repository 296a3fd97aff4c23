// Checks the lines of rows that a `header` or `window` line announces against the limits.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/columns/table_line.hpp"
#include "core/file/layout/limits.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

// The lines of rows that a `header` or `window` line announces: the table and the rows of each.
struct AnnouncedLines {
  std::vector<TableSlice> pieces;
  std::vector<UnknownRows> unknown;  // rows of unknown entities, without the lines themselves
};

inline constexpr std::array<std::size_t, kBuiltinEntities> kMaxRowsByEntity{
    limits::kThreads, limits::kThreads, limits::kCgroups, 1};

// Returns whether the list may receive one more entity: it is not full, the name is not too long,
// and it is not in the list yet.
inline bool can_add_entity(std::span<const UnknownRows> unknown, std::string_view entity) {
  return unknown.size() < limits::kUnknownEntities && entity.size() <= limits::kNameBytes &&
         std::ranges::find(unknown, entity, &UnknownRows::entity) == unknown.end();
}

// Adds a line with `rows` rows to the last unknown table.
inline void add_unknown_line(std::uint64_t rows, std::size_t first, bool opening_only,
                             AnnouncedLines& announced) {
  UnknownRows& table = announced.unknown.back();
  TableSlice slice{Entity::Thread, first, rows, false, opening_only};
  slice.unknown_position = UnknownLinePosition{announced.unknown.size() - 1, table.rows.size()};
  announced.pieces.push_back(slice);
  table.rows.push_back(rows);
}

}  // namespace ctprof::columns
