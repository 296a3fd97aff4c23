// Runs the pass over all threads: reads their identity and runs the sources of the thread stage.
//
// Lists threads by id, then reads them in runs of a few dozen: identity, then every source, while
// the directories of the run are open. Workers share the runs. A thread that exited before anything
// was read gets no row, and is counted.
//
// If the plan has a source of the list stage, that source lists the threads instead, and the
// sources of the thread stage follow. If it fails, the snapshot is unusable: run() returns the
// source, and the caller plans another pass without it.
//
// Processes are derived from the threads. Their sources run concurrently with those of listed
// threads, because reading heaps mostly waits for a helper, while reading memory maps uses a CPU.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/base/result.hpp"
#include "core/capture/blocking_processes.hpp"
#include "core/capture/roots.hpp"
#include "core/capture/source_run.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// A span of time, in ns after the start of the capture.
struct Span {
  std::uint64_t first;
  std::uint64_t last;
};

struct ThreadPass {
  const Roots& roots;
  Snapshot& snapshot;
  std::vector<std::uint64_t> pids;  // only these processes; empty: all
  unsigned workers;
  std::uint64_t clock_start;
  std::deque<SourceRun>& sources;  // of all stages; run up to the process stage
  BlockingProcesses& blocking;     // their threads become Busy

  // Fills the thread table, in (tgid, tid) order, and the process table. Returns null, or the
  // lister that failed.
  Result<SourceRun*> run();
  // Set by `run`:
  std::uint32_t directories = 0;  // kept open by each worker
  // The times at which the lister and the sources read threads; nullopt: there are none.
  std::optional<Span> read_span = std::nullopt;

 private:
  Result<std::vector<ThreadId>> list_threads();
  Result<void> walk_proc();
  bool list_with(SourceRun& lister);
  void reorder(const std::vector<std::uint32_t>& order);
  void read_runs(const std::vector<ThreadId>& listed);
  void use_source_read_times();
  bool has_thread_stage() const;
  // Runs the sources of listed threads and of processes.
  void collect(bool uses_lister);
  void run_sources(unsigned worker, std::size_t first_row, std::uint32_t rows,
                   const HiddenColumns& hidden);
  void run_process_sources(unsigned worker, std::size_t run);
  void save_tallies(unsigned worker);
  // Replaces an abandoned worker and all objects that it used.
  void replace_worker(unsigned worker, std::uint64_t process);
  void remove_exited_rows(const std::vector<std::uint32_t>& living_rows);
  void set_process_names();
};

}  // namespace ctprof
