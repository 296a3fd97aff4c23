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

}  // namespace ctprof::columns
