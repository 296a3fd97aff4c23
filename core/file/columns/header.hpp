// The lines of a block that describe it: its first line, and its last two.
//
//   {"kind":"header","format":2,"ctprof":{...},"host":{...},"registry":{...},
//    "gap_names":[...],"tables":{"thread":[1024,1024,7],"process":[97],...}}
//   {"kind":"window","opened":{...},"living":1031,...,"bases":{"thread":["run_time_ns",...],...}}
//   {"kind":"summary","ctprof":{...},...}
//   {"kind":"end","lines":7,"bytes":51234}
//
// The registry contains every metric completely, so that the file can be shown without plugins.
// `tables` lists the number of rows of each line, so that a reader knows the size of the tables
// before it reads a row; `exited` lists those of exited threads. `stacks` is the number of lines of
// kind `stacks` that follow the tables (stack_lines.hpp); without it there are none.
//
// If the header has `"window":true`, a line `window` follows. The first `living` rows of threads
// exist at the end of the window. `bases` lists the columns whose values at the opening are known,
// and `newer_bases`, if any, those whose newtype older versions do not know.
// `opening_only` lists, by entity, the columns and the number of rows of each line of kind
// `opening`; these lines follow the stacks. Without `opening_only`, the rows that left the window
// are unknown.
//
// `end` contains the number of lines, including itself, and the bytes of text before it, so that a
// reader detects a truncated file.
//
// A reader keeps unknown keys, rows of unknown entities (which `tables` and `opening_only` announce
// like others), and lines of unknown kinds anywhere after the header. It writes them again; lines
// of unknown kinds then follow the stacks.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/columns/announced_lines.hpp"
#include "core/file/columns/table_line.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

inline constexpr std::uint64_t kFormat = 2;
// The exact text with which a columns file begins.
inline constexpr std::string_view kFilePrefix = "{\"kind\":\"header\"";
inline constexpr std::array kAllEntities{Entity::Thread, Entity::Process, Entity::Cgroup,
                                         Entity::Host};

void write_header(const Snapshot& snapshot, std::span<const TableSlice> tables,
                  std::size_t stack_lines, JsonWriter& out);
// `opening_only`: the slices of Window::opening_only, line by line.
void write_window(const Snapshot& snapshot, std::span<const TableSlice> opening_only,
                  JsonWriter& out);
void write_summary(const Snapshot& snapshot, JsonWriter& out);
void write_end(std::uint64_t lines, std::uint64_t bytes, JsonWriter& out);

// Parses a line that is not a table. Errors continue a message about the line: "has no registry".
Result<KeptMembers> parse_line(std::string_view text);

// Fails if the line is not a header or has a newer format.
Result<void> check_header(const KeptMembers& line);
// Returns the announced tables, line by line; stops after `most_lines` + 1 lines.
Result<AnnouncedLines> read_announced_lines(const KeptMembers& header, std::size_t most_lines);
// Adds the header's columns, without rows, and its other contents to the snapshot.
Result<void> read_header(const KeptMembers& header, Snapshot& snapshot);
// Returns the announced number of lines of stacks.
std::uint64_t stack_line_count(const KeptMembers& header);
// Returns whether a line `window` follows.
bool announces_window(const KeptMembers& header);
// Adds the window to the snapshot, with columns without rows. Returns the announced lines of kind
// `opening`; lines of unknown entities are listed in FileExtras::unknown_opening_only. REQUIRES:
// read_header() was called.
Result<std::vector<TableSlice>> read_window(const KeptMembers& line, Snapshot& snapshot);
Result<void> read_summary(const KeptMembers& summary, Snapshot& snapshot);
// Fails if the `end` line has other numbers.
Result<void> check_end(const KeptMembers& end, std::uint64_t lines, std::uint64_t bytes);

}  // namespace ctprof::columns
