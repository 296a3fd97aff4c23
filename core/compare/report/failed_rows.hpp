// Which rows --fail-on picks out.
//
// A row matches when a condition names its metric, there is such a number, and the condition holds.
// Any of several conditions will do.
//
// What is here:   the rows.
// What is not:    reading the conditions (asked/fail_on.hpp), the rows' order (report.hpp).

#pragma once

#include <span>
#include <vector>

#include "core/compare/figures/change.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/compare/report/order.hpp"
#include "core/expression/condition.hpp"

namespace ctprof {

// The error names a metric that no file holds, and offers the nearest, or one that has no number.
Result<void> check_fail_on(std::span<const Condition> conditions, const MetricPlan& plan);

// Each row once, by group and then in the order of metrics. REQUIRES: checked.
std::vector<RowAt> failed_rows(std::span<const Condition> conditions, const MetricPlan& plan,
                               const Grouping& grouping, const Changes& changes,
                               const Rollup& rollup);

}  // namespace ctprof
