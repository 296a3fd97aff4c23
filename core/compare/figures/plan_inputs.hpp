// Connects the formulas of derived metrics with the metrics that they read.

#pragma once

#include <set>
#include <string>

#include "core/compare/figures/metric_plan.hpp"

namespace ctprof {

// Finds the inputs of derived metrics among the metrics with a number and the same groups. A
// missing input is null.
void connect_inputs(MetricPlan& plan);

// In windows counters are differences, but these gauges are computed from totals. Adds the totals
// to the plan as their inputs. REQUIRES: connect_inputs().
void connect_totals(const std::set<std::string>& gauges, MetricPlan& plan);

}  // namespace ctprof
