// Writes a snapshot as a block of a columns file: lines, each a zstd frame
// (compressed_lines.hpp).
//
//   {"kind":"header",...}                describes the block (header.hpp)
//   {"kind":"window",...}                only for a window (header.hpp)
//   {"kind":"table",...}                 the tables that the header announces, in that order
//   {"kind":"stacks",...}                the contents of cells of stacks (stack_lines.hpp)
//   {"kind":"opening",...}               only for a window: rows that only its opening has
//   ...                                  lines of kinds that this version does not know
//   {"kind":"summary",...}
//   {"kind":"end",...}
//
// The same snapshot results in the same text, regardless of the number of workers.

#pragma once

#include <cstdint>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

// States whether a block is the only one in its file. A reader allows every file some text
// regardless of its size (limits::kBaseText). One of several blocks does not count on that
// allowance, because together they would use it more than once.
enum class BlockPlacement { OnlyBlock, OneOfSeveral };

// Writes one block, and returns the bytes of its text. Leaves out hidden columns. Fails if `out`
// fails; throws bad_alloc.
Result<std::uint64_t> write_block(const Snapshot& snapshot, Sink& out, int level, unsigned workers,
                                  BlockPlacement placement = BlockPlacement::OnlyBlock);

}  // namespace ctprof::columns
