// Reduces runs one after the other to the data that a report keeps.
//
// A run is loaded, grouped and reduced, and can be freed before the next run is loaded; so memory
// grows with groups, not with threads. A few runs are reduced concurrently; the result does not
// depend on their order of completion.
//
// See also: figures/run_figures.hpp reduces a run, grouping/grouping.hpp joins groups.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/figures/common_stacks.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/run_facts.hpp"
#include "core/compare/figures/run_figures.hpp"
#include "core/compare/figures/where.hpp"
#include "core/compare/grouping/row_grouper.hpp"
#include "core/compare/report/excluded_threads.hpp"
#include "core/compare/report/group_signs.hpp"
#include "core/compare/report/screen.hpp"
#include "core/compare/request/spec.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Loads a run with all its rows; a window already contains differences. Called once for each run,
// by several threads concurrently.
using LoadRun = std::function<Result<std::shared_ptr<const Snapshot>>(std::size_t run)>;

struct ReducedRun {
  RunFacts facts;
  RowGroups rows;  // for a window, only the groups
  KeptCount kept_threads;
  RunFigures figures;                               // not finished
  std::vector<ScreenThreads> threads;               // for a window, by its own groups
  std::vector<GroupSigns> signs;                    // for a window, by its own groups
  std::vector<ExcludedProcesses> busiest_excluded;  // for a window
  std::shared_ptr<const Snapshot> snapshot;         // null for a window
};

// The data of all runs that a report keeps.
struct ReducedRuns {
  explicit ReducedRuns(const Spec& spec) : groups(spec) {}

  std::vector<ReducedRun> runs;
  RowGrouper groups;
  CommonStacks stacks;           // empty if the plan has no metric with stacks
  std::vector<bool> is_omitted;  // by metric: exceeds the allowance of some run
};

// Returns the error of the first run that could not be loaded. REQUIRES: the plan outlives the
// result.
Result<ReducedRuns> reduce_runs(std::size_t runs, const LoadRun& load, const MetricPlan& plan,
                                const ClassifiedConditions& where, const Spec& spec);

}  // namespace ctprof
