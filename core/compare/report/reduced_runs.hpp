// Runs, reduced one after the other to what a report keeps of them.
//
// A run is taken, grouped, and reduced, and then it may be let go before the next one is there; so
// memory grows with groups and not with threads. A few runs are at work at a time; what comes out
// does not depend on which is done first.
//
// Not here: what runs come to (figures/run_figures.hpp), common groups (grouping/grouping.hpp).

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/run_facts.hpp"
#include "core/compare/figures/run_figures.hpp"
#include "core/compare/figures/stack_book.hpp"
#include "core/compare/figures/where.hpp"
#include "core/compare/grouping/group_book.hpp"
#include "core/compare/report/group_signs.hpp"
#include "core/compare/report/screen.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Gives a run with all its rows, a window made of differences already. It is asked for each run
// once, by several OS threads at a time.
using TakeRun = std::function<Result<std::shared_ptr<const Snapshot>>(std::size_t run)>;

struct ReducedRun {
  RunFacts facts;
  RowGroups rows;  // of a window the groups alone
  KeptCount kept;
  RunFigures figures;                        // not finished
  std::vector<ScreenThreads> threads;        // of a window, by its own groups
  std::vector<GroupSigns> signs;             // the same
  std::shared_ptr<const Snapshot> snapshot;  // null of a window
};

// All that outlives the runs.
struct ReducedRuns {
  explicit ReducedRuns(const Spec& spec) : groups(spec) {}

  std::vector<ReducedRun> runs;
  GroupBook groups;
  StackBook stacks;            // empty where no metric of the plan has any
  std::vector<bool> left_out;  // by metric: some run has no room for it
};

// The error is that of the first run that could not be taken. REQUIRES: the plan outlives the
// figures.
Result<ReducedRuns> reduce_runs(std::size_t runs, const TakeRun& take, const MetricPlan& plan,
                                const SortedWhere& where, const Spec& spec);

}  // namespace ctprof
