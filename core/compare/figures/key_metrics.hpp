// One key of a map as a metric of its own: "process.smaps_rollup[Rss]".
//
// It is in the plan where the user names it, and is a number like any other: to be shown, sorted
// by, computed and judged with, and told per second where it counts up.
//
// What is here:   adding such metrics to a plan.
// What is not:    what one comes to (run_figures.cc).

#pragma once

#include <span>

#include "core/compare/figures/metric_plan.hpp"

namespace ctprof {

// Adds each key that `spec` names and that a map of the sides has. A name whose map is not known
// is left to whoever looks for it. The error says which map lacks the key, and offers the nearest.
Result<void> add_key_metrics(MetricPlan& plan, std::span<const Snapshot* const> sides,
                             const Spec& spec);

}  // namespace ctprof
