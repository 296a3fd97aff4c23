// Threads that ended, when they are too many for a row each.
//
// Threads that are alike are made one row: its counters are their sum, its peaks the highest, and
// what differs otherwise is NotApplicable. Its id, start and end are those of one of them, which
// stands for all; kThreads says how many they are. Alike are first those of one process, name and
// cgroup; where that leaves too many, those of processes of one name; then those of one cgroup;
// then all. Who descends from the window's command is never alike with who does not.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/window/make_window.hpp"

namespace ctprof {

// Does nothing while there are at most `most` rows; else leaves half of that, so that it is not
// soon to do again. Threads that began before `since_clock_ticks` keep their rows, as they may have
// had figures when the window opened; there are no more of them than there were threads. Counts in
// Ended::merged those that have no row of their own any more.
void merge_ended(Ended& ended, std::uint64_t since_clock_ticks, std::size_t most);

// Gives the table kThreads. Rows that have no count yet are a thread each.
void count_threads(Table& threads);
// How many threads each row of the snapshot stands for.
std::vector<std::uint64_t> threads_by_row(const Snapshot& snapshot);

}  // namespace ctprof
