// Threads that end while a window is open: the one source that tells of them, at work.
//
// start() before the window's first capture, so that no end is missed; drain() now and then, for
// the kernel's buffer is small; stop() after its last; told() for what came. If there is no such
// source, or it fails, the window is made all the same, and says why nobody told it.
//
// Threads: one at a time.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/capture/source_run.hpp"
#include "core/registry/plan.hpp"
#include "core/registry/probed.hpp"
#include "core/window/make_window.hpp"

namespace ctprof {

class Ends {
 public:
  // `pids`, `cgroup`: only threads of these processes, or of this cgroup and those below it; empty:
  // all. `command`: the process whose descendants are to be marked; 0: none. `inherits`: also
  // processes that `pids` fork from start() on, and their children.
  Ends(const Plan& plan, const Probed& probed, const std::vector<std::uint64_t>& pids,
       const std::string& cgroup, std::uint64_t command, bool inherits = false);

  void start();
  void drain();
  // A window begins, and its first capture is over. Drains, so that what ended until now is told
  // apart from what ends from now on; and threads that are born from now on may share rows.
  void opened();
  // Makes those that ended fewer rows, where they are too many for a row each.
  void bound();
  // Drains once more; nothing is told afterwards.
  void stop();
  // How many were told of since the window opened.
  std::size_t seen() const;
  std::uint64_t lost() const { return missed_.lost; }
  // Whether the source tells of births, too, of all that descend from the command.
  bool sees_births() const;
  // The processes whose births it has reported since the window opened.
  std::vector<std::uint64_t> born() const;
  // What was told since the window opened, which began with `before`. What the window leaves in
  // there is the next one's. `costs` gets what the source did until now, if there is one.
  Ended& told(const Snapshot& before, std::vector<SourceCost>& costs);
  // Why nobody tells of ends, or not of all; empty: somebody does.
  const std::string& why_not() const { return why_not_; }

 private:
  void leave_out_others();
  void leave_out_unplaced(const Snapshot& before);
  void take_moments();

  Ended ended_;
  std::vector<std::uint64_t> pids_;
  std::string cgroup_;
  std::uint64_t command_;
  bool inherits_;
  std::uint64_t opened_clock_ticks_ = UINT64_MAX;
  std::vector<std::uint64_t> read_at_;  // not used: an end has a time of its own
  SourceRun::Missed missed_;
  std::unique_ptr<SourceRun> source_;
  bool started_ = false;
  bool failed_ = false;
  std::string why_not_;
};

}  // namespace ctprof
