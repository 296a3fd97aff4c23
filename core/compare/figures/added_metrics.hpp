// Metrics that the user adds to a plan: keys of maps ("process.smaps_rollup[Rss]"), wherever one is
// named, and those of --derive.
//
// Both are numbers like any other: they can be shown, sorted by, computed with and failed on, and
// have a rate if they count up.
//
// Not here: their values (run_figures.hpp).

#pragma once

#include <span>

#include "core/compare/figures/metric_plan.hpp"

namespace ctprof {

// Adds each key of a map that `spec` names. The error says which map lacks the key, with the
// nearest one. A name whose map is unknown is skipped; looking it up will fail later.
Result<void> add_key_metrics(MetricPlan& plan, std::span<const Snapshot* const> sides,
                             const Spec& spec);

// Whether `spec` names something that may be the key of a map: which keys there are, only rows say.
bool names_keys(const Spec& spec);

// Adds the metrics of --derive. The error names what is wrong: a name that exists already, an input
// that is unknown (with the nearest one) or not a number, inputs of different entities, or units
// that do not fit.
Result<void> add_derived(MetricPlan& plan, std::span<const Snapshot* const> sides,
                         std::span<const DerivedDef> asked);

}  // namespace ctprof
