// The exits, forks and execs that were reported while a window was open.

#pragma once

#include <cstdint>
#include <vector>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// A descendant process of the window's command that was forked while the window was open.
struct ForkedProcess {
  std::uint64_t tgid = 0;
  std::uint64_t start_clock_ticks = 0;
  std::uint64_t forked_ns = 0;  // time of the fork, on CLOCK_BOOTTIME
};

// The exits and other events that were reported while a window was open.
struct ExitedThreads {
  Snapshot rows;                       // only its thread table, in any order
  std::vector<std::uint64_t> exit_ns;  // by row: time of the exit, on CLOCK_BOOTTIME
  std::vector<LeaderReplacement> execs;
  std::vector<ForkedProcess> forks;  // without processes whose leader is in `rows`
  std::uint64_t lost = 0;
  std::uint64_t unseen = 0;
  std::uint64_t merged = 0;  // threads without a row of their own: merged into another row
  bool has_source = false;   // whether a source reported exits
};

}  // namespace ctprof
