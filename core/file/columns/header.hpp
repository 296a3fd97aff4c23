// What a block says of itself: its first line, and its last two.
//
//   {"kind":"header","format":2,"ctprof":{...},"host":{...},"registry":{...},
//    "gap_names":[...],"tables":{"thread":[1024,1024,7],"process":[97],...}}
//   {"kind":"window","opened":{...},"living":1031,...,"bases":{"thread":["run_time_ns",...],...}}
//   {"kind":"summary","ctprof":{...},...}
//   {"kind":"end","lines":7,"bytes":51234}
//
// The registry has every metric whole, so that the file can be shown where no plugin is. `tables`
// gives the rows of each line, so that a reader knows the whole before it reads a part; `exited`
// those of threads that ended. A line `window` follows where the header says so: `living` rows of
// threads are alive at the end, and `bases` are the columns whose values at the opening are known.
// `stacks` is how many lines of kind `stacks` follow the tables (stack_lines.hpp); without it,
// none. `opening_only` of a window gives, by entity, the columns and the rows of each line of kind
// `opening`, which follow the stacks; without it, which rows left the window is unknown. `end`
// counts the lines, itself included, and the bytes of text before it: a file that was cut is seen.
//
// A reader keeps what it does not know and writes it again: keys, rows of unknown entities
// (`tables` and `opening_only` announce them as they do others), and lines of unknown kinds
// anywhere behind the header, which it moves behind the stacks.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/columns/table_line.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

inline constexpr std::uint64_t kFormat = 2;
// What a file in columns begins with, to the letter.
inline constexpr std::string_view kBeginning = "{\"kind\":\"header\"";
inline constexpr std::array kAllEntities{Entity::Thread, Entity::Process, Entity::Cgroup,
                                         Entity::Host};

void write_header(const Snapshot& snapshot, std::span<const Piece> tables, std::size_t stack_lines,
                  JsonWriter& out);
// `opening_only`: the pieces of Window::opening_only, line by line.
void write_window(const Snapshot& snapshot, std::span<const Piece> opening_only, JsonWriter& out);
void write_summary(const Snapshot& snapshot, JsonWriter& out);
void write_end(std::uint64_t lines, std::uint64_t bytes, JsonWriter& out);

// A line that is no table. Errors say what is wrong with it: "has no registry".
Result<KeptMembers> parse_line(std::string_view text);

// Fails where the line is no header, or of a newer format.
Result<void> check_header(const KeptMembers& line);
// The lines that a header or a line `window` announces.
struct Announced {
  std::vector<Piece> pieces;
  std::vector<UnknownRows> unknown;  // rows of unknown entities, without their lines
};
// The tables that it announces, line by line; one more than `most_lines` where there are more.
Result<Announced> read_plan(const KeptMembers& header, std::size_t most_lines);
// Gives the snapshot its columns, without rows, and what else a header says.
Result<void> read_header(const KeptMembers& header, Snapshot& snapshot);
// How many lines of stacks it announces.
std::uint64_t stack_lines_of(const KeptMembers& header);
// Whether a line `window` follows.
bool announces_window(const KeptMembers& header);
// Gives the snapshot its window, with columns without rows. Returns the lines of kind `opening`
// that it announces; lines of unknown entities are announced in Window::unknown_opening_only.
// REQUIRES: read_header() was called.
Result<std::vector<Piece>> read_window(const KeptMembers& line, Snapshot& snapshot);
Result<void> read_summary(const KeptMembers& summary, Snapshot& snapshot);
// Fails where it counts other than so.
Result<void> check_end(const KeptMembers& end, std::uint64_t lines, std::uint64_t bytes);

}  // namespace ctprof::columns
