// A file in columns, read back: one snapshot for each of its blocks.

#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

// Whether the data, zstd or the text in it, begins as a file in columns does.
bool is_columns(std::string_view zstd);

struct Blocks {
  std::vector<Snapshot> snapshots;
  bool torn = false;  // the file goes on behind them, with the beginning of another
};

// Reads all whole blocks, each by so many workers. A last block that was cut is left out, and said
// so; a file that has no whole one is an error, as are lines that are damaged, missing, doubled or
// out of order. The error says which line, without the file's name.
Result<Blocks> read_blocks(std::string_view zstd, unsigned workers);

}  // namespace ctprof::columns
