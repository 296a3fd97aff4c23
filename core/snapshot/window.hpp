// A window: the data that a snapshot at the end of a window needs to show the differences since its
// opening.
//
// capture/ and window/ create it, file/ stores and loads it, window/differences.hpp computes the
// differences. It is plain data.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/snapshot/column.hpp"

namespace ctprof {

// A point in time on both clocks.
struct Timestamp {
  std::uint64_t wall_unix_ns = 0;
  std::uint64_t boottime_ns = 0;  // CLOCK_BOOTTIME: comparable within one boot
};

// The readings of one table's rows at the opening. Columns have the names and the number of rows of
// the table. In a counter, a gap is NoBase or the reason why nothing could be read at the opening.
// Rows that started inside the window begin at zero.
struct Opening {
  std::deque<Column> columns;
  std::vector<std::uint8_t> started;  // by row; 1: started inside the window

  const Column* find(std::string_view metric) const;
};

// A non-leader thread that called execve(): the kernel gave it the tid and start time of its
// leader, and terminated all other threads of the process.
struct LeaderReplacement {
  std::uint64_t tgid = 0;               // tgid, and tid after the execve()
  std::uint64_t tid = 0;                // tid before
  std::uint64_t start_clock_ticks = 0;  // start time before; 0: unknown
  std::uint64_t at_ns = 0;              // time of the execve() on CLOCK_BOOTTIME
};

// The times when a row was first and last read, in ns after the window opened.
struct SeenTimes {
  std::uint64_t first = 0;  // time of the first reading, or of the start
  std::uint64_t last = 0;   // time of the last reading, or of the exit
};

struct Snapshot;

// The data of a window in addition to the snapshot at its end.
struct Window {
  Timestamp opened_at;  // time before the first row of the opening was read
  std::array<Opening, kEntities> openings;
  // Totals of counters at the end of the window, which derived metrics need. Not in the file.
  // Filled by convert_to_differences().
  std::array<std::deque<Column>, kEntities> totals;
  // Rows of the opening without a row at the end: exited threads and processes, and removed
  // cgroups. With their identities, texts and gauges, and their own pools. Exited threads are both
  // here and after the living rows. Null: unknown, as in files of older versions.
  std::shared_ptr<Snapshot> opening_only;
  std::vector<SeenTimes> seen_times;                   // by thread row; empty: unknown
  std::vector<LeaderReplacement> leader_replacements;  // in the order of time; not in the file
  // The thread table has this many living rows. The rows after them are threads that exited inside
  // the window, ordered by (tgid, tid, start); they have their final readings.
  std::size_t living_threads = 0;
  std::uint64_t exited_lost = 0;     // exited inside; a full buffer lost their readings
  std::uint64_t exited_unknown = 0;  // exited inside; nothing else is known
  std::uint64_t exited_merged = 0;   // exited inside; merged into the row of another exited thread
  bool reports_exits = false;        // whether any source reported exited threads
  bool is_partial = false;           // only selected processes were recorded
  std::string host_context;          // the host's context (kHostContext) at the opening, or empty
  std::vector<std::string> notes;    // events on the host inside the window: a clock was set ...
};

}  // namespace ctprof
