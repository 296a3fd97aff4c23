// Chooses which metrics of a plan a report shows, by the names, sections and plugins that the user
// specified, and checks what the user sorts by.

#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/compare/figures/metric_plan.hpp"

namespace ctprof {

// Sets PlannedMetric::shown. The error names a metric, a section or a plugin that no file has, with
// the nearest one, or a sort key that is not a number.
Result<void> choose_metrics(MetricPlan& plan, std::span<const Snapshot* const> sides,
                            const Spec& spec);

// What a word of --sort-by names: a metric, or the metric of the first screen's column of that
// label; null where it is neither.
const PlannedMetric* sorted_metric(const MetricPlan& plan, std::string_view word);
// Spec::sort with columns of the first screen replaced by their metrics. REQUIRES: choose_metrics()
// accepted it.
std::vector<SortKey> keys_of_metrics(const MetricPlan& plan, const Spec& spec);

}  // namespace ctprof
