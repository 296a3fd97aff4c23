// The pass over all threads: who they are, and what the sources of the thread stage say about them.
//
// Threads are first listed by id, then read in runs of a few dozen: identity, then every source,
// while the directories of the run are open. The workers share the runs. A thread that exited
// before anything of it could be read leaves no row, and is counted.
//
// If the plan has a source of the list stage, that source lists the threads instead, and the
// sources of the thread stage follow. If it fails, the snapshot is not usable: run() returns the
// source, and the caller makes another pass by a plan without it.
//
// Processes follow from the threads. Their sources run beside those of listed threads: what looks
// into heaps mostly waits for its helper, and what asks for memory keeps a processor busy.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/base/result.hpp"
#include "core/capture/held.hpp"
#include "core/capture/roots.hpp"
#include "core/capture/source_run.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// A span of time, in ns after the capture's start.
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
  std::deque<SourceRun>& sources;  // of all stages; those up to the process stage are run
  HeldProcesses& held;             // their threads are Busy

  // Fills the thread table, in (tgid, tid) order, and the process table. Returns null, or the
  // lister that failed.
  Result<SourceRun*> run();
  // Set by `run`:
  std::uint32_t directories = 0;            // that a worker keeps open
  std::optional<Span> read = std::nullopt;  // when threads were read, by the lister and the sources
                                            // of both stages; none: no thread

 private:
  Result<std::vector<ThreadId>> list_threads();
  Result<void> walk();
  bool list_by(SourceRun& lister);
  void reorder(const std::vector<std::uint32_t>& order);
  void read_runs(const std::vector<ThreadId>& listed);
  void take_moments();
  bool has_thread_stage() const;
  // The sources of threads that were listed, and of processes.
  void collect(bool threads_are_listed);
  void run_sources(unsigned worker, std::size_t first_row, std::uint32_t rows,
                   const HiddenColumns& hidden);
  void run_process_sources(unsigned worker, std::size_t run);
  void keep_counts(unsigned worker);
  // The worker was given up with all that it used.
  void replace(unsigned worker, std::uint64_t process);
  void compact(const std::vector<std::uint32_t>& alive);
  void name_processes();
};

}  // namespace ctprof
