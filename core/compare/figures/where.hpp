// --where, applied: conditions are sorted into those about threads and those about groups, and
// leave out what they are not true of.
//
// Conditions on threads come first, so a group's figures are those of the threads that are left.
// Under compare a group is kept on all sides if each condition is true of it on one of them, so
// that exchanging the files changes nothing.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/asked/expressions.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/expression/condition.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// The conditions by what they are about.
struct SortedWhere {
  std::vector<Condition> threads{};
  std::vector<Condition> groups{};
};

// The error names a metric that no file has, with the nearest one, or one that a condition cannot
// use.
Result<SortedWhere> sort_out(const Where& where, std::span<const Snapshot* const> sides,
                             const MetricPlan& plan);

// Which threads of a run the conditions are true of; empty without any. REQUIRES: conditions on
// threads.
Kept kept_threads(const Snapshot& run, std::span<const Condition> conditions);

// Whether the run has a column for everything that the conditions read. REQUIRES: as above.
bool can_judge_threads(const Snapshot& run, std::span<const Condition> conditions);

// How many rows of threads a run has, and how many of them are kept.
struct KeptCount {
  std::size_t kept = 0, all = 0;
};

// "--where keeps 3 of 12 threads of the baseline and 4 of 13 of the candidate", of all runs of each
// side together. `counts` is of each run.
std::string kept_in_words(std::span<const KeptCount> counts, std::span<const SideRuns> sides);

// Empties the groups that are left out. REQUIRES: conditions on groups, from sort_out with this
// plan.
void keep_groups(Grouping& grouping, std::span<const Condition> conditions, const Rollup& rollup,
                 const MetricPlan& plan);

}  // namespace ctprof
