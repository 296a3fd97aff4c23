// --fail-on: which rows of a comparison match a condition.
//
// METRIC.pct (of the baseline, in percent), METRIC.delta, METRIC.baseline and METRIC.candidate are
// numbers of a group; `threads` is how many it has in the candidate, and `group` its name. A row
// matches when the condition names its metric, there is such a number, and the condition holds. Any
// of several conditions will do.
//
// What is here:   reading the conditions, and the rows.
// What is not:    their order and what is printed of them (report.hpp).

#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/compare/change.hpp"
#include "core/compare/grouping.hpp"
#include "core/compare/metric_plan.hpp"
#include "core/compare/order.hpp"
#include "core/expression/condition.hpp"

namespace ctprof {

// The error says what is wrong with the text alone.
Result<Condition> parse_fail_on(std::string_view text);

// The error names a metric that no file holds, and offers the nearest, or one that has no number.
Result<void> check_fail_on(std::span<const Condition> conditions, const MetricPlan& plan);

// Each row once, by group and then in the order of metrics. REQUIRES: checked.
std::vector<RowAt> failed_rows(std::span<const Condition> conditions, const MetricPlan& plan,
                               const Grouping& grouping, const Changes& changes,
                               const Rollup& rollup);

}  // namespace ctprof
