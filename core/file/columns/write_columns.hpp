// A snapshot as a file in columns.
//
//   {"kind":"header","format":2,"ctprof":{...},"host":{...},"registry":{...},
//    "gap_names":[...],"tables":{"thread":[1024,1024,7],"process":[97],...}}
//   {"kind":"table",...}                 the tables that the header announces, in that order
//   ...                                  lines of kinds that this version does not know
//   {"kind":"summary","ctprof":{...},...}
//   {"kind":"end","lines":7,"bytes":51234}
//
// `tables` gives the rows of each line, so that a reader knows the whole before it reads a part.
// `end` counts the lines, itself included, and the bytes of text before it: a file that was cut is
// seen. The same snapshot gives the same text, whatever the number of workers.

#pragma once

#include <cstdint>

#include "core/base/result.hpp"
#include "core/file/write/out_file.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

inline constexpr std::uint64_t kFormat = 2;
// Of what a file in columns begins with, behind blanks.
inline constexpr std::string_view kBeginning = "{\"kind\":\"header\"";

// Writes one block, and returns the bytes of its text. Hidden columns are left out. Fails where the
// file cannot be written; throws bad_alloc.
Result<std::uint64_t> write_block(const Snapshot& snapshot, OutFile& file, int level,
                                  unsigned workers);

}  // namespace ctprof::columns
