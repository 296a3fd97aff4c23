// Limits the memory of a block's tables, in proportion to the size of the block's text.

#pragma once

#include <cstddef>

#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

// Returns whether the cells of the snapshot's rows fit into the limit for `text_bytes` of text.
// REQUIRES: the tables have their columns and their numbers of rows.
bool rows_fit(const Snapshot& snapshot, std::size_t text_bytes);
// Returns how many bytes the limit leaves for pools, after the cells.
std::size_t pool_memory_limit(const Snapshot& snapshot, std::size_t text_bytes);
// Estimates the memory of a window that was read. REQUIRES: snapshot.window.
std::size_t estimate_memory(const Snapshot& snapshot);

}  // namespace ctprof::columns
