// What happened in a window: its columns as differences.
//
// A column that counts up becomes what it counted between the two ends, from zero where the row was
// born inside. What its base is not known for is NoBase, what fell is WentBackwards. Maps are
// subtracted key by key, as their definition says which keys count up, and arrays by element. A map
// of gauges alone needs no base.
// Stacks stay, too: they are what was recorded in the window.
// Counters of which a derived metric needs the totals, as bytes in use are bytes allocated less
// bytes freed, keep their readings at both ends (Window::totals, Window::openings).
// Gauges, limits and texts stay as they were at the end; what they were at the beginning stays
// beside them (Window::openings). A peak is one of a whole life, and stays.
//
// The time that a thread was just running or waiting at either end, which the kernel has not added
// to its counters yet, is added here, by the roles of metrics (ctprof/roles.hpp). Where nobody
// could tell, a thread that was running or waiting has NoBase in these. What both leave of the time
// between the thread's two readings is a column of its own, the time that it was blocked.
//
// Threads: one. The snapshot is changed in place; it keeps its pools.

#pragma once

#include <cstdint>
#include <deque>
#include <string_view>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Whether a difference of two readings of the metric says what happened between them. Stacks are
// what happened already: a recorder begins with the window.
bool counts_up(const MetricDef& def);
// Whether it is about the window and nothing else, for a recorder told it: stacks, and numbers that
// are marked so. It has no lifetime, and of windows back to back it is put together.
bool is_recorded(const MetricDef& def);
// Whether the metric, or some key of a map, is told as it was at the end, with what it grew by. A
// map may have both.
bool has_gauges(const MetricDef& def);

// The first column of that role, or null. A file may give a role to any metric; one that is stored
// in another way cannot play it.
const Column* find_role(const std::deque<Column>& columns, std::string_view role,
                        Storage storage = Storage::U64);

// The time that a thread was blocked, which to_differences() computes.
MetricDef blocked_time();

// Lets a recorded column of threads that counts up begin at zero. REQUIRES: snapshot.window.
void begin_at_zero(Snapshot& snapshot, const Column& column);
// Adds a reading of a recorded number to what the row has: a sum, the largest, or the least, as the
// metric says.
void add_number(Column& column, std::uint32_t row, std::uint64_t number);

// REQUIRES: snapshot.window. Afterwards a second call would subtract again.
void to_differences(Snapshot& snapshot);

}  // namespace ctprof
