// A file in columns, read back: one of its blocks as a snapshot.

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

// Whether the data, zstd or the text in it, begins as a file in columns does.
bool is_columns(std::string_view zstd);

struct Block {
  Snapshot snapshot;
  std::size_t whole = 0;  // blocks of the file
  bool torn = false;      // the file goes on behind them, with the beginning of another
  std::string unread;     // or with what is none: why
};

// Where one block is, and when what it holds was: it opened and ended there.
struct BlockPlace {
  std::size_t at = 0, bytes = 0;
  bool is_window = false;
  std::string boot_id;
  Moment opened, ended;  // of a snapshot both the same
};

// The blocks that the data begins with. What follows them is the beginning of another, or none.
struct Blocks {
  std::vector<BlockPlace> whole;
  std::size_t end = 0;  // of the last
  bool torn = false;    // the data goes on with the beginning of another
  std::string unread;   // or with what is none: why
};

// Finds them by what they say of themselves; their rows are not looked at. Nothing in the data is
// an error: what is no block ends the list. Throws bad_alloc.
Blocks list_blocks(std::string_view zstd);

// What was found of the blocks of a file that are read one after the other.
struct Read {
  std::size_t whole = 0;
  bool torn = false;   // as in Block
  std::string unread;  // as in Block
};

// Reads all blocks, by so many workers, and hands each over before it reads the next, as long as
// `take` returns true. Fails where not even the first can be read. Throws bad_alloc.
Result<Read> read_each(std::string_view zstd, unsigned workers,
                       const std::function<bool(Snapshot)>& take);

// Reads block `number`, from 1, by so many workers; of the others only how long they are. Fails
// where the file has no such block, and where lines of it, or of one before it, are damaged,
// missing, doubled or out of order: the error says which line, without the file's name. Throws
// bad_alloc.
Result<Block> read_block(std::string_view zstd, std::size_t number, unsigned workers);

// What the only block of a file says of itself before its rows, where it is a window and whole:
// the snapshot has its columns, none of their rows, and `rows_in_file`. None for any other file.
// That it says when each thread was seen is taken for granted, as the lines of threads alone know.
// Lines that are not needed for this are not looked at. Throws bad_alloc.
Result<std::optional<Snapshot>> read_outline(std::string_view zstd);

// The windows that a file holds, in order.
struct Windows {
  std::vector<Snapshot> snapshots;
  bool torn = false;   // as in Block
  std::string unread;  // as in Block
};

// Reads the blocks behind the first, which is a window. Fails where a snapshot is among them, and
// where all take more memory together than one file may. Throws bad_alloc.
Result<Windows> read_windows(std::string_view zstd, Snapshot first, unsigned workers);

}  // namespace ctprof::columns
