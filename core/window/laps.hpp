// Windows put together and taken apart: two snapshots as a window, windows back to back as one, and
// what a window began with.
//
//   Result<Snapshot> window = window_between(before, std::move(after));   // A..B
//
//   Laps laps(first);                      // the windows of `record --repeat`, one after the other
//   while (...) laps.add(std::move(next));
//   Result<Snapshot> whole = std::move(laps).join();
//
// Not here: differences (happened.hpp).

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"
#include "core/window/make_window.hpp"
#include "core/window/thread_names.hpp"

namespace ctprof {

// A window of two snapshots, in which nobody told of threads that ended: they are counted as
// unseen, and have no part in any figure. Fails as make_window() does.
Result<Snapshot> window_between(const Snapshot& before, Snapshot after,
                                const std::string& before_name, const std::string& after_name);

// Whether `next` is of the same boot and opened where `window` ended.
bool follows(const Snapshot& next, const Snapshot& window);

// The snapshot at the beginning of a window: what was there then, with the figures that the window
// has of it: those that count up, gauges, limits and texts. Of what never changes for the same
// thing, such as its name, it has what it was at the end. REQUIRES: snapshot.window, and no
// differences were made.
Snapshot begin_of(Snapshot window);

// Windows back to back, made one: it opens where the first one does, and has the threads that ended
// in any of them. What was recorded in each (stacks) is added up, thread by thread. Keeps one
// window at a time, those threads, and what was recorded of others.
class Laps {
 public:
  // REQUIRES: of all windows, that no differences were made.
  explicit Laps(Snapshot first);
  // REQUIRES: follows(window, the one before).
  void add(Snapshot window);
  // Fails as make_window() does. REQUIRES: two windows at least.
  Result<Snapshot> join() &&;

 private:
  void note_births(const Snapshot& window);
  void restore_births(Snapshot& whole) const;
  void take_ended(const Snapshot& window);
  void append_ended(const Snapshot& window);
  void add_recorded(Snapshot& window);
  void add_covered(const Snapshot& window);

  Snapshot begin_;
  Snapshot recorded_;  // of threads that lived when the last window ended: who, and their stacks
  Ended ended_;
  std::optional<Snapshot> last_;
  bool sees_ends_ = true, partial_ = false;
  bool knows_opening_ = false;  // also of rows that exited in the first window
  std::vector<std::string> notes_;
  std::map<ThreadName, std::uint64_t> births_;  // within the windows, on CLOCK_BOOTTIME
  // By plugin and source of a recorder: how long its sums cover in all windows; none: unknown.
  std::map<std::pair<std::string, std::string>, std::optional<std::uint64_t>> covered_;
};

}  // namespace ctprof
