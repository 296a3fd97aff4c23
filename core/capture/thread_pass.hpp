// The pass over all threads: who they are, and what the sources of the thread stage say of them.
//
// Threads are listed by name first, then read in runs of a few dozen: identity, then every source,
// while the run's directories are open. Runs are shared by the workers. Threads that went away
// before anything could be read leave no row; they are counted.
//
// If a source of the list stage was planned, it lists instead, and the sources of the thread stage
// follow. Should it fail, nothing of the pass is of use: `run` returns that source, and the pass is
// to be made again by a plan without it.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/base/result.hpp"
#include "core/capture/held.hpp"
#include "core/capture/roots.hpp"
#include "core/capture/source_run.hpp"
#include "core/capture/walk.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// A stretch of time, ns after the capture's start.
struct Span {
  std::uint64_t first;
  std::uint64_t last;
};

struct ThreadPass {
  const Roots& roots;
  Snapshot& snapshot;
  std::vector<std::uint64_t> pids;  // only these processes; none: all
  unsigned workers;
  std::uint64_t clock_start;
  std::deque<SourceRun>& sources;  // of all stages; those of the list and thread stages are run
  HeldProcesses& held;             // their threads are Busy

  // Fills the thread table, in (tgid, tid) order, without a hidden column. Null, or the lister that
  // failed.
  Result<SourceRun*> run();
  // Set by `run`:
  std::uint32_t directories = 0;            // that a worker keeps open
  std::optional<Span> read = std::nullopt;  // when threads were read, by the lister and the sources
                                            // of both stages; none: no thread

 private:
  Result<std::vector<ThreadId>> list_threads();
  Result<void> walk();
  bool list_by(SourceRun& lister);
  void read_runs(const std::vector<ThreadId>& listed);
  void collect_listed();
  bool has_thread_stage() const;
  void run_sources(unsigned worker, std::size_t first_row, std::uint32_t rows,
                   const HiddenColumns& hidden);
  void keep_counts(unsigned worker);
  // The worker was given up with all that it used.
  void replace(unsigned worker, std::uint64_t process);
  void compact(const std::vector<std::uint32_t>& alive);
  void name_processes();
};

}  // namespace ctprof
