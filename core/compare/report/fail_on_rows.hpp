// Finds the rows that --fail-on matches, and those that it cannot test.
//
// A row matches if a condition names its metric, the requested figure exists, and the condition is
// true. With several conditions, one that is true is sufficient.
//
// See also: request/expressions.hpp parses the conditions, report.hpp orders the rows.

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

// The error names a metric that no file has (with the nearest name), a metric that is not a number,
// or a figure that these sides do not have.
Result<void> check_fail_on(std::span<const Condition> conditions, const MetricPlan& plan,
                           std::span<const SideRuns> sides);

// Returns each matching row once, ordered by group and metric. REQUIRES: check_fail_on accepted the
// conditions.
std::vector<RowPosition> find_fail_on_rows(std::span<const Condition> conditions,
                                           const MetricPlan& plan, const Grouping& grouping,
                                           const Changes& changes, const Rollup& rollup,
                                           Families& families);

// Returns a message for each metric in a condition that cannot be tested, because groups have
// different parts on both sides. A skipped check must not look like a passed check.
std::vector<std::string> describe_untestable_metrics(std::span<const Condition> fail_on,
                                                     const MetricPlan& plan,
                                                     const Grouping& grouping,
                                                     const Changes& changes, const Rollup& rollup);

}  // namespace ctprof
