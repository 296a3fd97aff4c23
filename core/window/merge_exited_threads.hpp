// Merges rows of exited threads if there are too many.
//
// Similar threads share one row. Its counters are sums, its peaks are maxima, and other cells that
// differ become NotApplicable. Its id, start and end are those of one of the threads; kThreads is
// their number. Threads are similar if they have the same process, name and cgroup. If that leaves
// too many rows, the same process name, thread name and cgroup suffice, then the same cgroup, then
// all are merged. Descendants of the window's command are never merged with others.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/window/exited_threads.hpp"

namespace ctprof {

// Does nothing if there are at most `max_rows` rows; else leaves about half of that, so that
// merging is rare. Threads that started before `since_clock_ticks` keep their rows, because they
// may have readings at the opening; their number is limited by the number of threads then. Adds the
// threads without a row of their own to ExitedThreads::merged.
void merge_exited_threads(ExitedThreads& exited, std::uint64_t since_clock_ticks,
                          std::size_t max_rows);

// Adds the column kThreads. Rows without a count get 1.
void count_threads(Table& threads);
// Returns the number of threads in each row of the snapshot.
std::vector<std::uint64_t> threads_by_row(const Snapshot& snapshot);

}  // namespace ctprof
