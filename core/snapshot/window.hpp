// A window: what the snapshot at its end holds beside itself, so that it can say what happened
// since the window opened.
//
// capture/ and window/ make it, file/ stores and loads it, window/happened.hpp turns it into
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
struct Moment {
  std::uint64_t wall_unix_ns = 0;
  std::uint64_t boottime_ns = 0;  // CLOCK_BOOTTIME: comparable within one boot
};

// What the rows of one table were when the window opened. Columns have the names and the number of
// rows of the table's own. In a column that counts up, a gap is NoBase or the reason why nothing
// could be read then; a row that was born inside began at zero.
struct Opening {
  std::deque<Column> columns;
  std::vector<std::uint8_t> born;  // by row; 1: began while the window was open

  const Column* find(std::string_view metric) const;
};

// A thread that was no leader ran another program: the kernel gave it its leader's tid and start
// time, and ended all others of the process.
struct TookOver {
  std::uint64_t tgid = 0;               // and tid, from then on
  std::uint64_t tid = 0;                // before
  std::uint64_t start_clock_ticks = 0;  // before; 0: not known
  std::uint64_t at_ns = 0;              // when, on CLOCK_BOOTTIME
};

// When a row was looked at, in ns after the window opened.
struct Seen {
  std::uint64_t first = 0;  // or when it was born
  std::uint64_t last = 0;   // or when it ended
};

// Rows of an entity that this version does not know, as lines of a file in columns.
struct UnknownRows {
  std::string entity;
  std::vector<std::string> columns{};  // those that the line `window` lists
  std::vector<std::uint64_t> rows{};   // of each line
  std::vector<std::string> lines{};    // in file order, without line feeds
};

struct Snapshot;

struct Window {
  Moment opened;  // before the first row of the opening was read
  std::array<Opening, kEntities> openings;
  // Counters as they were at the end, of which derived metrics need the totals; not in the file.
  // Filled by to_differences().
  std::array<std::deque<Column>, kEntities> totals;
  // Rows of the opening that have no row at the end (threads and processes that exited, cgroups
  // that were removed), with their identities, texts and gauges; its pools are its own. Threads
  // that exited are here as well as behind the living rows. Null: unknown, as in files of older
  // versions.
  std::shared_ptr<Snapshot> opening_only;
  std::vector<UnknownRows> unknown_bases;         // columns only
  std::vector<UnknownRows> unknown_opening_only;  // of entities that this version does not know
  std::vector<Seen> seen;                         // by thread row; empty: not known
  std::vector<TookOver> took_over;                // as it happened; not in the file
  // Rows of the thread table from here on are threads that ended inside, in (tgid, tid, start)
  // order; their figures are those of their last moment.
  std::size_t living = 0;
  std::uint64_t ended_lost = 0;    // that ended inside, and whose figures a full buffer lost
  std::uint64_t ended_unseen = 0;  // that ended inside, and of which nothing is known
  std::uint64_t ended_merged = 0;  // without a row of their own: that of another stands for them
  bool sees_ends = false;          // whether any source told of threads that ended
  bool partial = false;            // only some processes were wanted
  std::string host;                // its context (kHostContext) when the window opened, or empty
  std::vector<std::string> notes;  // what happened to the host meanwhile: a clock was set ...
};

}  // namespace ctprof
