// One pass over all that there is: threads, processes, cgroups, the host; each by the sources that
// the plan has for it.
//
// In: what the host can do, where it is, the plan. Out: a snapshot in which no cell is Untouched;
// or, where the source that was to list the threads gave up, that source and what it cost: then
// there is no snapshot, and the pass is to be made again by a plan without it. Fails where /proc
// cannot be read.
//
// Used once, by one thread; its workers are threads of its own.

#pragma once

#include <deque>
#include <variant>

#include "core/base/result.hpp"
#include "core/capture/capture.hpp"
#include "core/capture/held.hpp"
#include "core/capture/roots.hpp"
#include "core/capture/source_run.hpp"
#include "core/registry/plan.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct FailedLister {
  const SourceTable* source;
  SourceCost cost;
};

class HostPass {
 public:
  HostPass(const Probed& probed, const Roots& roots, const Plan& plan,
           const CaptureOptions& options);

  Result<std::variant<Snapshot, FailedLister>> run();

 private:
  void open_sources();
  void run_stage(ctprof_stage stage);
  void collect_processes(SourceRun& source, const Table& table);
  void finish(std::uint64_t cpu_before, std::vector<SourceCost> reserve);

  const Probed& probed_;
  const Roots& roots_;
  const Plan& plan_;
  const CaptureOptions& options_;
  unsigned workers_;
  Snapshot snapshot_;
  std::deque<SourceRun> sources_;
  HeldProcesses held_;
};

// Fills the identity columns of the three tables. REQUIRES: a finished thread table.
void add_process_rows(Snapshot& snapshot);
void add_cgroup_rows(Snapshot& snapshot);
void add_host_row(Snapshot& snapshot);

}  // namespace ctprof
