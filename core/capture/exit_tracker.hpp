// Tracks threads that exit while a window is open, through the source that reports them.
//
// Call start() before the first capture of the window, so that no exit is missed. Call drain()
// regularly, because the kernel's buffer is small. Call stop() after the last capture, and
// collect() for the results. If no source reports exits, or if it fails, the window is made without
// them and contains the reason.
//
// Threads: used by one thread at a time.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/capture/source_run.hpp"
#include "core/registry/plan.hpp"
#include "core/registry/probed_host.hpp"
#include "core/window/make_window.hpp"

namespace ctprof {

class ExitTracker {
 public:
  // `pids`, `cgroup`: report only threads of these processes, or of this cgroup and its
  // descendants; empty: all. `command`: the process whose descendants are marked; 0: none.
  // `inherits`: also report processes that `pids` fork after start(), and their descendants.
  ExitTracker(const Plan& plan, const ProbedHost& probed, const std::vector<std::uint64_t>& pids,
              const std::string& cgroup, std::uint64_t command, bool inherits = false);

  void start();
  void drain();
  // Marks the start of a window, after its first capture. Drains, to distinguish earlier exits from
  // those in the window. Threads that start from now on may be merged into shared rows
  // (limit_rows).
  void begin_window();
  // Merges rows of exited threads if there are more than kMaxRows.
  void limit_rows();
  // Drains once more; no later exits are reported.
  void stop();
  // Returns the number of exits that were reported since the window opened.
  std::size_t count_exits() const;
  std::uint64_t count_lost() const { return losses_.lost; }
  // Returns whether the source also reports every process forked by a descendant of the command.
  bool sees_forks() const;
  // Returns the forked processes that the source reported since the window opened.
  std::vector<std::uint64_t> forked_processes() const;
  // Returns the exits since the window opened; `before` is its first capture. Rows that do not
  // belong to this window remain for the next one. Appends to `costs` the cost of the source so
  // far, if there is a source.
  ExitedThreads& collect(const Snapshot& before, std::vector<SourceCost>& costs);
  // Returns why exits are missing or incomplete; empty: they are complete.
  const std::string& failure_reason() const { return failure_reason_; }

 private:
  void drop_other_cgroups();
  void drop_unknown_cgroups(const Snapshot& before);
  void read_exit_times();

  ExitedThreads exited_;
  std::vector<std::uint64_t> pids_;
  std::string cgroup_;
  std::uint64_t command_;
  bool inherits_;
  std::uint64_t opened_clock_ticks_ = UINT64_MAX;
  std::vector<std::uint64_t> read_at_;  // SourceRun needs it; unused here: a column has exit times
  SourceRun::Losses losses_;
  std::unique_ptr<SourceRun> source_;
  bool is_started_ = false;
  bool has_failed_ = false;
  std::string failure_reason_;
};

}  // namespace ctprof
