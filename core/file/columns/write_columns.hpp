// A snapshot as a file in columns: a block of lines, each a frame (lines.hpp).
//
//   {"kind":"header",...}                what the block is (header.hpp)
//   {"kind":"table",...}                 the tables that the header announces, in that order
//   {"kind":"stacks",...}                what cells of stacks are (stack_lines.hpp)
//   ...                                  lines of kinds that this version does not know
//   {"kind":"summary",...}
//   {"kind":"end",...}
//
// The same snapshot gives the same text, whatever the number of workers.

#pragma once

#include <cstdint>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

// Whether a block stands alone in its file. What may be one of many claims nothing of the text that
// any file may unfold to, whatever its size: together they would claim it more than once.
enum class Stands { Alone, AmongOthers };

// Writes one block, and returns the bytes of its text. Hidden columns are left out. Fails where
// `out` does; throws bad_alloc.
Result<std::uint64_t> write_block(const Snapshot& snapshot, Sink& out, int level, unsigned workers,
                                  Stands stands = Stands::Alone);

}  // namespace ctprof::columns
