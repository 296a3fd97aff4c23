// Converts the columns of a window to differences.
//
// A counter becomes the difference between the two ends; its base is zero if the row is new. A
// counter without a base becomes NoBase, and one that decreased WentBackwards. Maps are subtracted
// by key, if their definition says that the key counts up, and arrays by element. A map of only
// gauges needs no base. Stacks remain, because they were recorded in the window. Counters whose
// totals a derived metric needs (bytes in use are bytes allocated less bytes freed) keep both
// readings (Window::totals, Window::openings). Gauges, limits and texts keep their value at the
// end, and the value at the opening (Window::openings). A peak covers the whole life of a thread,
// and remains.
//
// The time that a thread had just been running or waiting at either end, which the kernel has not
// yet added to its counters, is added here, by the roles of metrics (ctprof/newtypes.hpp). If that
// time is unknown, these columns are NoBase for a thread that was running or waiting. The rest of
// the time between the two readings of a thread is a separate column, the blocked time.
//
// Threads: one. The snapshot is changed in place and keeps its pools.

#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string_view>

#include "core/snapshot/snapshot.hpp"
#include "core/window/roles.hpp"

namespace ctprof {

// Returns whether the difference of two readings is meaningful. False for stacks and histograms of
// a recorder, which only records inside the window. These get no base of zero, because older
// versions refuse a file with bases of a newtype that they do not know.
bool counts_up(const MetricDef& def);
// Returns whether a recorder filled the metric: stacks, and numbers that are marked as such. It
// describes only the window and has no lifetime. Over consecutive windows, its values are combined.
bool is_recorded(const MetricDef& def);
// Returns whether the metric, or some key of a map, is shown with its value at the end and its
// change. A map can have both gauges and counters.
bool has_gauges(const MetricDef& def);

// Adds a base of zero for a recorded column of threads that counts up. REQUIRES: snapshot.window.
void add_zero_base(Snapshot& snapshot, const Column& column);
// Combines a recorded number with the value of the row: by sum, maximum or minimum, depending on
// the metric.
void combine_number(Column& column, std::uint32_t row, std::uint64_t number);
// Adds the elements of an array to those of the row. REQUIRES: the column has arrays in `pool`.
void add_array(Column& column, std::uint32_t row, std::span<const std::uint64_t> more,
               WordsPool& pool);

// REQUIRES: snapshot.window. Must be called only once, because it would subtract again.
void convert_to_differences(Snapshot& snapshot);

}  // namespace ctprof
