// Threads that end while a window is open: the one source that tells of them, at work.
//
// start() before the window's first capture, so that no end is missed; drain() now and then, for
// the kernel's buffer is small; take() after its last. If there is no such source, or it fails, the
// window is made all the same, and says why nobody told it.
//
// Threads: one.

#pragma once

#include <cstdint>
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
  Ends(const Plan& plan, const Probed& probed, const std::vector<std::uint64_t>& pids);

  void start();
  void drain();
  // The window's first capture is over. Drains, so that what ended until now is told apart from what
  // ends from now on; and threads that are born from now on may share rows.
  void opened();
  // Makes those that ended fewer rows, where they are too many for a row each.
  void bound();
  // How many were told of until now.
  std::size_t seen() const { return ended_.rows.threads().rows + ended_.merged; }
  std::uint64_t lost() const { return missed_.lost; }
  // Stops, drains once more, and hands everything over. `cost` is what the source did; it is left
  // alone where there was none.
  Ended take(std::vector<SourceCost>& cost);
  // Why nobody tells of ends, or not of all; empty: somebody does.
  const std::string& why_not() const { return why_not_; }

 private:
  Ended ended_;
  std::vector<std::uint64_t> pids_;
  std::uint64_t opened_clock_ticks_ = UINT64_MAX;
  std::vector<std::uint64_t> read_at_;  // not used: an end has a time of its own
  SourceRun::Missed missed_;
  std::unique_ptr<SourceRun> source_;
  bool started_ = false;
  bool failed_ = false;
  std::string why_not_;
};

}  // namespace ctprof
