// Chooses which metrics of a plan a report shows, by the names, sections and plugins that the user
// specified, and checks what the user sorts by.

#pragma once

#include <span>

#include "core/compare/figures/metric_plan.hpp"

namespace ctprof {

// Sets PlannedMetric::shown. The error names a metric, a section or a plugin that no file has, with
// the nearest one, or a sort key that is not a number.
Result<void> choose_metrics(MetricPlan& plan, std::span<const Snapshot* const> sides,
                            const Spec& spec);

}  // namespace ctprof
