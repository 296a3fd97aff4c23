// Which metrics a report has no room for: each has a reading and a row for every group, and a file
// of few bytes can have thousands of both.
//
// What goes in is a plan and its groups; what comes out is `left_out` in metrics of the plan, and a
// note. What the user named (--metrics,
// --sort, --where, --fail-on, and inputs of these) always stays. Of the others those that are shown
// come first, in the order of the plan.

#pragma once

#include <span>

#include "core/compare/asked/spec.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/grouping/grouping.hpp"

namespace ctprof {

void leave_out_costly(MetricPlan& plan, const Grouping& grouping, const Spec& spec,
                      std::span<const Condition> of_groups, std::span<const Snapshot* const> sides);

}  // namespace ctprof
