// Applies --where: sorts its conditions into conditions on threads and on groups, and removes
// threads and groups that do not meet them.
//
// With the axis Entity, rows of an entity of a plugin replace threads. An identity column or a
// metric whose name begins with the name of the entity and a dot may be named without them:
// `device`.
//
// Conditions on threads are applied first, so the values of a group are those of the remaining
// threads. Under compare, a group is kept on all sides if each condition is true for it on at least
// one side, so exchanging the files changes nothing.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/compare/request/expressions.hpp"
#include "core/expression/condition.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Conditions on threads and conditions on groups.
struct ClassifiedConditions {
  std::vector<Condition> threads{};  // conditions on rows: threads, or those of the axis Entity
  std::vector<Condition> groups{};
  Entity entity = Entity::Thread;  // of these rows
};

// The error names a metric that no file has, with the nearest name, or a metric that a condition
// cannot use.
Result<ClassifiedConditions> classify_conditions(const WhereConditions& where,
                                                 std::span<const Snapshot* const> sides,
                                                 const MetricPlan& plan,
                                                 Entity entity = Entity::Thread);

// Returns, for each thread of a run or each row of the entity, whether the conditions on rows are
// true; empty if there are no such conditions.
KeptRows select_rows(const Snapshot& run, const ClassifiedConditions& where);

// Returns whether the run has a column for each input of the conditions on rows.
bool has_condition_columns(const Snapshot& run, const ClassifiedConditions& where);

// The number of thread rows of a run, and the number of kept rows.
struct KeptCount {
  std::size_t kept_threads = 0, all_threads = 0;
};

// Returns "--where keeps 3 of 12 threads of the baseline and 4 of 13 of the candidate", summed over
// the runs of each side. `counts` has one entry for each run; `entity`: of the rows.
std::string describe_kept_threads(std::span<const KeptCount> counts,
                                  std::span<const SideRuns> sides, Entity entity = Entity::Thread);

// Empties the groups that do not meet the conditions. REQUIRES: conditions on groups, from
// classify_conditions() with this plan.
void filter_groups(Grouping& grouping, std::span<const Condition> conditions, const Rollup& rollup,
                   const MetricPlan& plan);

}  // namespace ctprof
