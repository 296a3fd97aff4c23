// Which rows --fail-on picks out, and which it cannot judge.
//
// A row matches if a condition names its metric, the figure exists, and the condition is true. With
// several conditions, any of them will do.
//
// Not here: parsing the conditions (asked/expressions.hpp), the rows' order (report.hpp).

#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/compare/figures/change.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/compare/report/families.hpp"
#include "core/compare/report/order.hpp"
#include "core/expression/condition.hpp"

namespace ctprof {

// The error names a metric that no file has, with the nearest one, one that is not a number, or a
// figure that these sides do not have.
Result<void> check_fail_on(std::span<const Condition> conditions, const MetricPlan& plan,
                           std::span<const SideRuns> sides);

// Each row once, by group and then in the order of metrics. REQUIRES: conditions that
// check_fail_on accepted.
std::vector<RowAt> failed_rows(std::span<const Condition> conditions, const MetricPlan& plan,
                               const Grouping& grouping, const Changes& changes,
                               const Rollup& rollup, Families& families);

// A sentence for each metric in a condition that has groups with different parts on both sides, and
// so cannot be judged. A check that was not made must not look like one that passed.
std::vector<std::string> unlike_parts(std::span<const Condition> fail_on, const MetricPlan& plan,
                                      const Grouping& grouping, const Changes& changes,
                                      const Rollup& rollup);

}  // namespace ctprof
