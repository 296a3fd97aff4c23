// Plans the metrics of a report.

#pragma once

#include <span>

#include "core/base/result.hpp"
#include "core/compare/figures/metric_plan.hpp"

namespace ctprof {

// The error names a metric of `spec` that no file has, with the nearest name.
Result<MetricPlan> plan_metrics(std::span<const Snapshot* const> sides, const Spec& spec,
                                const PluginDefinitions& knowledge);

}  // namespace ctprof
