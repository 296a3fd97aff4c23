// Joins and splits windows: makes a window from two snapshots, joins consecutive windows, and
// extracts the snapshot at the beginning of a window.
//
//   Result<Snapshot> window = window_between(before, std::move(after));   // A..B
//
//   WindowJoiner joiner(first);            // consecutive windows of `record --repeat`
//   while (...) joiner.add(std::move(next));
//   Result<Snapshot> whole = std::move(joiner).join();
//
// See also: differences.hpp.

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
#include "core/window/thread_identities.hpp"

namespace ctprof {

// Makes a window of two snapshots without reports of exited threads: these are counted as unseen,
// and contribute to no metric. Fails like make_window().
Result<Snapshot> window_between(const Snapshot& before, Snapshot after,
                                const std::string& before_name, const std::string& after_name);

// Returns whether `next` is of the same boot and opened when `window` closed.
bool follows(const Snapshot& next, const Snapshot& window);

// Returns the snapshot at the beginning of a window: the rows that existed then, with the readings
// that the window keeps of them: counters, gauges, limits and texts. Constant properties of a row,
// such as its name, are those at the end. REQUIRES: snapshot.window, and differences were not
// computed.
Snapshot opening_snapshot(Snapshot window);

// Joins consecutive windows. The result opens with the first window and contains the threads that
// exited in any of them. Recorded columns (stacks) are added thread by thread. Stores one window at
// a time, the exited threads, and the recorded columns of the other threads.
class WindowJoiner {
 public:
  // REQUIRES: no window was converted to differences.
  explicit WindowJoiner(Snapshot first);
  // REQUIRES: follows(window, the previous one).
  void add(Snapshot window);
  // Fails like make_window(). REQUIRES: at least two windows.
  Result<Snapshot> join() &&;

 private:
  void record_start_times(const Snapshot& window);
  void restore_start_times(Snapshot& whole) const;
  void add_exited(const Snapshot& window);
  void append_exited(const Snapshot& window);
  void add_recorded(Snapshot& window);
  void add_covered_times(const Snapshot& window);

  Snapshot opening_;
  Snapshot recorded_;  // living threads at the end of the last window, and their stacks
  ExitedThreads exited_;
  std::optional<Snapshot> last_window_;
  bool has_exits_ = true, is_partial_ = false;
  bool has_opening_rows_ = false;  // also of rows that exited in the first window
  std::vector<std::string> notes_;
  std::map<ThreadIdentity, std::uint64_t> start_times_;  // in the windows, on CLOCK_BOOTTIME
  // By plugin and source of a recorder: time that its sums cover in all windows; nullopt: unknown.
  std::map<std::pair<std::string, std::string>, std::optional<std::uint64_t>> covered_ns_;
};

}  // namespace ctprof
