// Which groups --where leaves: those for which the conditions hold, by what the group's threads,
// processes and cgroups came to.

#pragma once

#include <span>

#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/expression/condition.hpp"

namespace ctprof {

// Empties the other groups. A group stays on both sides when each condition holds on one of those
// that have it. REQUIRES: conditions on groups, by sort_out with this plan.
void keep_groups(Grouping& grouping, std::span<const Condition> conditions, const Rollup& rollup,
                 const MetricPlan& plan);

}  // namespace ctprof
