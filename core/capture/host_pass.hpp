// Runs one pass over all tables: the host, threads, processes, cgroups, and entities of plugins,
// each filled by its planned sources.
//
// Input: the probed host, its roots, the plan. Output: a snapshot without an Untouched cell. If the
// source that lists the threads fails, run() returns that source and its cost instead of a
// snapshot, and the caller plans again without it. Fails if /proc cannot be read.
//
// Threads: used once, by one thread; its workers are separate threads.

#pragma once

#include <deque>
#include <variant>

#include "core/base/result.hpp"
#include "core/capture/blocking_processes.hpp"
#include "core/capture/options.hpp"
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
  HostPass(const ProbedHost& probed, const Roots& roots, const Plan& plan,
           const CaptureOptions& options);

  Result<std::variant<Snapshot, FailedLister>> run();

 private:
  void open_sources();
  void run_stage(ctprof_stage stage);
  void collect_all_rows(SourceRun& source, const Table& table);
  void read_plugin_entities();
  CgroupList all_cgroups();
  void finish(std::uint64_t cpu_before, std::vector<SourceCost> reserve_costs);

  const ProbedHost& probed_;
  const Roots& roots_;
  const Plan& plan_;
  const CaptureOptions& options_;
  unsigned workers_;
  Snapshot snapshot_;
  std::deque<SourceRun> sources_;
  BlockingProcesses blocking_;
};

}  // namespace ctprof
