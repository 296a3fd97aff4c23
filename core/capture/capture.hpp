// Takes a snapshot: lists the threads, lets every planned source fill its columns, and records what
// each of them cost.
//
//   const Registry registry(*load_plugins({.own_directory = own_plugin_directory()}));
//   Result<Snapshot> snapshot = capture(registry, {});
//
// A thread that exits, or a file that may not be read, does not fail a capture: the cell becomes a
// gap that gives the reason. A capture fails if /proc cannot be read, or if it is asked for a
// process or a metric that does not exist.
//
// A Session is the same in steps, for callers that do something between the two ends:
//
//   auto session = Session::open(registry, options);   // probe this host
//   session->begin();                                  // read everything that is planned
//   while (...) session->drain();                      // collect what recorders have gathered
//   Result<Snapshot> snapshot = session->end();
//
// With CaptureOptions::window, begin() reads the host when the window opens, drain() takes in the
// threads that ended since the last time, and end() reads the host again; what it returns is a
// window (core/window). Without, end() returns what begin() read, and drain() does nothing. lap()
// returns a window and goes on with the next one, which begins with what this one read at its end.
// Recorders of call stacks work from the end of the reading at the beginning until that of the
// reading at the end, so that for each thread it is about as long as its window is.
//
// Threads: one thread uses a session. Any number of sessions may share a registry, in turn or at
// the same time; each of them probes the host anew.

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
#include "core/capture/ends.hpp"
#include "core/capture/meta.hpp"
#include "core/capture/options.hpp"
#include "core/capture/records.hpp"
#include "core/capture/roots.hpp"
#include "core/registry/plan.hpp"
#include "core/registry/probed.hpp"
#include "core/registry/registry.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// What a session can begin while plugins are still loaded: it opens those that take long.
//
//   Ahead ahead({});
//   auto plugins = load_plugins({..., .ahead = [&](const Plugin& plugin) { ahead.open(plugin); }});
//   const Registry registry(std::move(*plugins));
//   auto session = Session::open(registry, options, std::move(ahead));
//
// What fails here, the session does again, and says why.
class Ahead {
 public:
  Ahead() = default;
  // Of a session with that rootfs.
  explicit Ahead(const std::string& rootfs);
  void open(const Plugin& plugin);

 private:
  friend class Session;
  std::unique_ptr<const Roots> roots_;  // null: nothing is done ahead
  ContextsAhead contexts_;
};

class Session {
 public:
  // Opens /proc and its neighbours, checks that the requested processes and cgroup exist, opens
  // every plugin and probes every source. Fails if there is no /proc, or none of these.
  // REQUIRES: the registry outlives the session.
  static Result<Session> open(const Registry& registry, CaptureOptions options, Ahead ahead = {});

  // Plans the capture and reads everything. Fails if /proc cannot be read, or if no plugin has a
  // metric that was asked for. If the source that lists the threads gives up, the host is read
  // again without it.
  Result<void> begin();
  void drain();
  // Does the work while another thread drains: for what takes longer than the kernel's buffer of
  // ends lasts, such as writing a file. The work does not use the session. Returns the id of that
  // thread, 0 if there is none.
  std::uint64_t drain_during(const std::function<void()>& work);
  // The window until now; the next one is open when it returns. The snapshot stays the session's,
  // until the next call of lap() or end(). REQUIRES: as end(), and CaptureOptions::window.
  Result<const Snapshot*> lap();
  // Hands over the snapshot, or the window. REQUIRES: begin() succeeded, and end() has not been
  // called.
  Result<Snapshot> end();
  // Hands over the call stacks of the window that lap() or end() returned last as they were
  // recorded, raw; its rows have them too.
  RecordedWindow take_recorded() { return std::exchange(recorded_, {}); }
  // Threads when the window opened.
  std::size_t threads() const;
  // Threads that ended in the window until the last drain().
  std::size_t ends_seen() const { return ends_ ? ends_->seen() : 0; }
  // Whether a source sees what the command's processes bear. Without, their parents tell at the end
  // whose they are, and orphans can be told only if they fall to us (PR_SET_CHILD_SUBREAPER).
  bool sees_births() const { return ends_ && ends_->sees_births(); }
  std::uint64_t ends_lost() const { return ends_ ? ends_->lost() : 0; }

  // Sources that were loaded but took no part, and why. Complete once begin() has returned.
  const std::vector<Refusal>& refused() const { return refused_; }

 private:
  Session(const Registry& registry, CaptureOptions options, Ahead ahead);

  Result<Snapshot> read(bool opens);
  bool follows_children() const;
  void find_children();
  void forget_exited_children(const Snapshot& window);
  bool is_about_a_cgroup() const;
  Result<void> start_recorders();
  void drain_sources();
  void gather_recorded(bool is_last, std::uint64_t opened_ns, Meta& meta);
  void add_stacks(Snapshot& window, bool is_last);
  void add_one_look();
  Result<Snapshot> window_until_now(bool is_last);
  void mark_descendants(const Snapshot& before, Snapshot& after, const Ended& ended) const;

  CaptureOptions options_;
  std::unique_ptr<const Roots> roots_;  // on the heap: ctprof_host keeps pointers into it
  Probed probed_;
  std::unique_ptr<Ends> ends_;        // of a window
  std::unique_ptr<Records> records_;  // where recorders were asked for
  RecordedWindow recorded_;
  std::optional<Snapshot> read_;      // at the beginning, or the window that ended there
  HostState state_;                   // of the host then
  std::set<std::uint64_t> children_;  // of options_.pids, born while windows are open, and theirs
  bool has_laps_ = false;
  std::vector<Refusal> refused_;
};

// A whole session. Stores in `refused`, unless it is null, the sources that took no part.
Result<Snapshot> capture(const Registry& registry, const CaptureOptions& options,
                         std::vector<Refusal>* refused = nullptr, Ahead ahead = {});

// Captures one process.
Result<Snapshot> capture_pid(const Registry& registry, std::uint64_t pid,
                             CaptureOptions options = {});

// How many cells hold a value, and how many hold each gap, over all columns.
struct CellTally {
  std::uint64_t values = 0;
  std::array<std::uint64_t, kGapNames.size()> gaps{};
};
CellTally tally(const Snapshot& snapshot);

}  // namespace ctprof
