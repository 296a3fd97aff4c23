// What --fail-on cannot judge: groups whose derived figure has different parts on both sides.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/compare/figures/change.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/expression/condition.hpp"

namespace ctprof {

// A sentence for each metric that a condition names and that has such groups. A gate that does not
// act must not look like one that was passed.
std::vector<std::string> unlike_parts(std::span<const Condition> fail_on, const MetricPlan& plan,
                                      const Grouping& grouping, const Changes& changes,
                                      const Rollup& rollup);

}  // namespace ctprof
