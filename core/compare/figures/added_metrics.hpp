// Metrics that the user adds to a plan: keys of maps such as "process.smaps_rollup[Rss]", and the
// metrics of --derive.
//
// Both can be shown, sorted by, used in expressions and in --fail-on; counters also have rates.
//
// See also: run_figures.hpp for their values.

#pragma once

#include <span>

#include "core/compare/figures/metric_plan.hpp"

namespace ctprof {

// Adds each map key that `spec` names, as it is or as reports show it: "device=sda direction=read".
// The error names the map that lacks the key, and the nearest existing key. Skips a name whose map
// is unknown; its later lookup fails.
Result<void> add_key_metrics(MetricPlan& plan, std::span<const Snapshot* const> sides,
                             const Spec& spec);

// Adds the p99 of each histogram with a headline as a column of the first screen.
void add_histogram_columns(MetricPlan& plan);

// Returns whether `spec` contains a name that may be a map key. Only rows contain the existing
// keys.
bool may_name_map_keys(const Spec& spec);

// Adds the metrics of --derive. The error names the cause: a name that already exists, an input
// that is unknown (with the nearest name) or not a number, inputs of different entities, or
// incompatible units.
Result<void> add_derived(MetricPlan& plan, std::span<const Snapshot* const> sides,
                         std::span<const DerivedDef> definitions);

}  // namespace ctprof
