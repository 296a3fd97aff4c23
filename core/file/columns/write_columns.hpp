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

#include "core/base/result.hpp"
#include "core/file/write/out_file.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

// Writes one block, and returns the bytes of its text. Hidden columns are left out. Fails where the
// file cannot be written; throws bad_alloc.
Result<std::uint64_t> write_block(const Snapshot& snapshot, OutFile& file, int level,
                                  unsigned workers);

}  // namespace ctprof::columns
