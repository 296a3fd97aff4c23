// Makes a window of two snapshots of one boot, and of the threads that ended in between.
//
//   Result<Snapshot> window = make_window(before, std::move(after), ended);
//
// Of windows back to back, make_lap() makes one, and end_of() is what the next one begins with.
//
// The window is the snapshot `after`, with what each of its rows was in `before` beside it
// (Window::openings), and with the threads that ended inside behind those that live. No figure is
// subtracted yet: that is happened.hpp's work, so that a file keeps both ends.
//
// Rows are the same if they are the same thing: threads by tid and start time, processes by their
// leader, cgroups by path and id. A thread that another one replaced by exec goes on as one.
//
// What is here:   which rows are one, what they were, what was born.
// What is not:    differences (happened.hpp), reading either end (capture/).

#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// A process that descends from the window's command, and was born while the window was open.
struct Birth {
  std::uint64_t tgid = 0;
  std::uint64_t start_clock_ticks = 0;
  std::uint64_t at_ns = 0;  // when, on CLOCK_BOOTTIME
};

// What was seen to end while a window was open.
struct Ended {
  Snapshot rows;                     // its thread table alone, in any order
  std::vector<std::uint64_t> at_ns;  // by row: when, on CLOCK_BOOTTIME
  std::vector<TookOver> took_over;
  std::vector<Birth> births;  // without those whose leaders' ends are among the rows
  std::uint64_t lost = 0;
  std::uint64_t unseen = 0;
  std::uint64_t merged = 0;  // that have no row of their own: another one's stands for them
  bool told = false;         // whether there was anybody to tell of ends
};

// Fails if the snapshots are of different boots, or in the wrong order; the error names
// `before_name` and `after_name`.
Result<Snapshot> make_window(const Snapshot& before, Snapshot after, Ended ended,
                             const std::string& before_name = "the first snapshot",
                             const std::string& after_name = "the second");
// The same, for a window that another one follows: takes out of `ended` what stands in this one or
// in none. What is left belongs to the next: who ended later than this one's end, or is a zombie.
Result<Snapshot> make_lap(const Snapshot& before, Snapshot after, Ended& ended,
                          const std::string& before_name = "the first snapshot",
                          const std::string& after_name = "the second");

// The snapshot at the end of a window: without the threads that ended inside, and without what was
// before, or was recorded inside. A snapshot that is no window comes back as it is.
Snapshot end_of(Snapshot window);

}  // namespace ctprof
