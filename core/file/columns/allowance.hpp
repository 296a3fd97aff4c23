// What the tables of a block may take of memory, by the text that it has.

#pragma once

#include <cstddef>

#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

// Whether the cells of its rows may. REQUIRES: its tables have their columns, and say how many rows
// they will have.
bool may_have(const Snapshot& snapshot, std::size_t text_bytes);
// What is left for pools beside the cells.
std::size_t most_pooled(const Snapshot& snapshot, std::size_t text_bytes);
// About how much a window takes that was read. REQUIRES: snapshot.window.
std::size_t memory_of(const Snapshot& snapshot);

}  // namespace ctprof::columns
