// Takes a snapshot: lists the threads, lets every planned source fill its columns, and measures the
// time of each.
//
//   const Registry registry(*load_plugins({.shipped_directory = own_plugin_directory()}));
//   Result<Snapshot> snapshot = capture(registry, {});
//
// A thread that exits, or a file that may not be read, does not fail a capture: the cell becomes a
// gap that gives the reason. A capture fails if /proc cannot be read, or if a requested process or
// metric does not exist.
//
// A Session does the same in steps, for callers that do other work between begin() and end():
//
//   auto session = Session::open(registry, options);   // probe this host
//   session->begin();                                  // read everything that is planned
//   while (...) session->drain();                      // collect exits and records
//   Result<Snapshot> snapshot = session->end();
//
// With CaptureOptions::is_window, begin() reads the host when the window opens. drain() collects
// the threads that exited since the previous call. end() reads the host again and returns a window
// (core/window). Without that option, end() returns what begin() read, and drain() does nothing.
// next_window() returns a window and opens the next one, which starts with the readings at the end
// of the returned one.
// Recorders of call stacks work from the end of the first reading to the end of the second one. So
// for each thread they cover about the length of its window.
//
// Threads: one thread uses a session. Any number of sessions may share a registry, consecutively or
// concurrently; each of them probes the host itself.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/capture/active_recorders.hpp"
#include "core/capture/exit_tracker.hpp"
#include "core/capture/meta.hpp"
#include "core/capture/options.hpp"
#include "core/capture/roots.hpp"
#include "core/registry/plan.hpp"
#include "core/registry/probed_host.hpp"
#include "core/registry/registry.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Opens plugins with a slow open() while further plugins are still being loaded.
//
//   EarlyOpener opener({});
//   auto plugins = load_plugins(
//       {..., .on_early_plugin = [&](const Plugin& plugin) { opener.open(plugin); }});
//   const Registry registry(std::move(*plugins));
//   auto session = Session::open(registry, options, std::move(opener));
//
// If an open fails here, the session repeats it and reports the error.
class EarlyOpener {
 public:
  EarlyOpener() = default;
  // Prepares for a session with this rootfs.
  explicit EarlyOpener(const std::string& rootfs);
  void open(const Plugin& plugin);

 private:
  friend class Session;
  std::unique_ptr<const Roots> roots_;  // null: no plugin is opened early
  EarlyContexts contexts_;
};

class Session {
 public:
  // Opens /proc, /sys and the cgroup hierarchy, checks that the requested processes and cgroup
  // exist, opens every plugin and probes every source. Fails if /proc or one of the requested
  // objects is missing.
  // REQUIRES: the registry outlives the session.
  static Result<Session> open(const Registry& registry, CaptureOptions options,
                              EarlyOpener opener = {});

  // Plans the capture and reads everything. Fails if /proc cannot be read, or if no plugin provides
  // a requested metric. If the source that lists the threads fails, the host is read again without
  // it.
  Result<void> begin();
  void drain();
  // Runs `work` while another thread drains. Use it for work that takes longer than the kernel's
  // buffer of exit records lasts, such as writing a file. The work must not use the session.
  // Returns the id of the draining thread, 0 if there is none.
  std::uint64_t drain_during(const std::function<void()>& work);
  // Closes the window, opens the next one and returns the closed one. The session owns the
  // snapshot, which is valid until the next call of next_window() or end(). REQUIRES: as end(), and
  // CaptureOptions::is_window.
  Result<const Snapshot*> next_window();
  // Returns the snapshot or the window, and closes the session. REQUIRES: begin() succeeded, and
  // end() has not been called.
  Result<Snapshot> end();
  // Moves out the raw call stacks of the window that next_window() or end() returned last. The rows
  // of that window contain the same stacks.
  RecordedWindow take_recorded() { return std::exchange(recorded_, {}); }
  // Returns the number of threads when the window opened.
  std::size_t threads() const;
  // Returns the number of threads that exited in the window until the last drain().
  std::size_t count_exited_threads() const {
    return exit_tracker_ ? exit_tracker_->count_exits() : 0;
  }
  // Returns whether a source reports forks by the descendants of the command. Without such a
  // source, descendants are found from parent ids at the end of the window. Orphans are then found
  // only if they are reparented to ctprof (PR_SET_CHILD_SUBREAPER).
  bool sees_forks() const { return exit_tracker_ && exit_tracker_->sees_forks(); }
  std::uint64_t count_lost_exits() const { return exit_tracker_ ? exit_tracker_->count_lost() : 0; }

  // Returns loaded sources that took no part, and why. Complete once begin() has returned.
  const std::vector<Refusal>& refusals() const { return refusals_; }

 private:
  Session(const Registry& registry, CaptureOptions options, EarlyOpener opener);

  Result<Snapshot> read_host(bool is_opening);
  bool follows_children() const;
  void find_children();
  void forget_exited_children(const Snapshot& window);
  bool is_limited_to_cgroup() const;
  Result<void> start_recorders();
  void drain_sources();
  void collect_records(bool is_last, std::uint64_t opened_ns, Meta& meta);
  void add_stacks(Snapshot& window, bool is_last);
  void add_snapshot_stacks();
  Result<Snapshot> close_window(bool is_last);
  void mark_descendants(const Snapshot& before, Snapshot& after, const ExitedThreads& exited) const;

  CaptureOptions options_;
  std::unique_ptr<const Roots> roots_;  // on the heap: ctprof_host keeps pointers into it
  ProbedHost probed_;
  std::unique_ptr<ExitTracker> exit_tracker_;  // null without a window
  std::unique_ptr<ActiveRecorders> records_;   // null unless recorders are requested
  RecordedWindow recorded_;
  std::optional<Snapshot> last_snapshot_;  // the last reading, or the window that ended with it
  HostState host_state_;                   // at the last reading
  std::set<std::uint64_t> children_;       // descendants of options_.pids started in a window
  bool has_closed_window_ = false;
  std::vector<Refusal> refusals_;
};

// Runs a whole session. Stores in `refusals`, unless it is null, the sources that took no part.
Result<Snapshot> capture(const Registry& registry, const CaptureOptions& options,
                         std::vector<Refusal>* refusals = nullptr, EarlyOpener opener = {});

// Captures one process.
Result<Snapshot> capture_pid(const Registry& registry, std::uint64_t pid,
                             CaptureOptions options = {});

// Counts the cells that hold a value and the cells of each gap, over all columns.
struct CellTally {
  std::uint64_t values = 0;
  std::array<std::uint64_t, kGapNames.size()> gaps{};
};
CellTally tally(const Snapshot& snapshot);

}  // namespace ctprof
