// Selects the metrics of a plan that a report shows, by the names, sections and plugins that the
// user specified, and checks the sort keys.

#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/compare/figures/metric_plan.hpp"

namespace ctprof {

// Sets PlannedMetric::is_shown. The error names a metric, section or plugin that no file has, with
// the nearest name, or a sort key that is not a number.
Result<void> choose_metrics(MetricPlan& plan, std::span<const Snapshot* const> sides,
                            const Spec& spec);

// Returns the metric that a word of --sort-by names, or the metric of the first screen's column
// with that label; null if there is neither.
const PlannedMetric* find_sort_metric(const MetricPlan& plan, std::string_view word);
// Returns Spec::sort, with columns of the first screen replaced by their metrics. REQUIRES:
// choose_metrics() accepted the spec.
std::vector<SortKey> resolve_sort_keys(const MetricPlan& plan, const Spec& spec);

}  // namespace ctprof
