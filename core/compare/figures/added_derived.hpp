// What --derive adds to a plan of metrics.

#pragma once

#include <span>

#include "core/compare/figures/metric_plan.hpp"

namespace ctprof {

// The error says which name clashes, is not known (and offers the nearest), or is no number, or
// which units do not go together.
Result<void> add_derived(MetricPlan& plan, std::span<const Snapshot* const> sides,
                         std::span<const DerivedDef> asked);

}  // namespace ctprof
