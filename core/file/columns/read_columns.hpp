// Reads columns files: finds their blocks, and reads them as snapshots.

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

// Returns whether the text in the zstd data begins like a columns file.
bool is_columns(std::string_view zstd);

// One block of a file, and what else the file contains.
struct Block {
  Snapshot snapshot;
  std::size_t complete_blocks = 0;  // number of complete blocks in the file
  bool is_truncated = false;        // an incomplete block follows them
  std::string invalid_reason;       // why the data after them is not a block; empty: no such data
};

// The position of a block, and the time of its contents.
struct BlockLocation {
  std::size_t offset = 0, bytes = 0;
  bool is_window = false;
  std::string boot_id;
  Timestamp opened_at, ended_at;  // equal for a snapshot
};

// The complete blocks at the beginning of the data.
struct BlockList {
  std::vector<BlockLocation> blocks;
  std::size_t end = 0;         // end of the last complete block
  bool is_truncated = false;   // an incomplete block follows
  std::string invalid_reason;  // why the data after them is not a block; empty: no such data
};

// Finds the blocks through their headers, without reading rows. Never fails: the list ends where
// the data is not a block. Throws bad_alloc.
BlockList list_blocks(std::string_view zstd);

// The result of reading all blocks of a file.
struct ReadResult {
  std::size_t complete_blocks = 0;
  bool is_truncated = false;   // an incomplete block follows
  std::string invalid_reason;  // why the data after the last block is invalid; empty: no such data
};

// Reads all blocks with `workers` threads. Passes each to `consume` before it reads the next, and
// stops when `consume` returns false. Fails if the first block cannot be read. Throws bad_alloc.
Result<ReadResult> read_all_blocks(std::string_view zstd, unsigned workers,
                                   const std::function<bool(Snapshot)>& consume);

// Reads block `number`, counted from 1, with `workers` threads, and skips the others. Fails if the
// file has no such block, or if lines of that block or of an earlier one are damaged, missing,
// repeated or out of order. The error names the line, but not the file. Throws bad_alloc.
Result<Block> read_block(std::string_view zstd, std::size_t number, unsigned workers);

// Reads the definitions of a file that consists of one complete window. The snapshot has columns
// without rows, and `rows_in_file`. Returns nothing for any other file. Assumes that the file
// contains the times at which each thread was seen, because only the lines of threads can show it.
// Does not read lines that are not needed. Throws bad_alloc.
Result<std::optional<Snapshot>> read_outline(std::string_view zstd);

// The windows of a file, in order.
struct Windows {
  std::vector<Snapshot> snapshots;
  bool is_truncated = false;   // an incomplete block follows
  std::string invalid_reason;  // why the data after the last block is invalid; empty: no such data
};

// Reads the blocks after the first, which is a window. Fails if one of them is a snapshot, or if
// all windows together take more memory than one file may. Throws bad_alloc.
Result<Windows> read_windows(std::string_view zstd, Snapshot first, unsigned workers);

}  // namespace ctprof::columns
