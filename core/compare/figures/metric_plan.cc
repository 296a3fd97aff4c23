#include "core/compare/figures/metric_plan.hpp"

#include <algorithm>

#include "core/rules/maps.hpp"

namespace ctprof {

// A definition that distinguishes keys names the gauges; the other keys are counters.
bool PlannedMetric::key_is_cumulative(std::string_view map_key) const {
  return (is_cumulative || !map_keys.empty()) && !rules::find_key_kind(map_keys, map_key).is_gauge;
}

bool PlannedMetric::key_is_sum(std::string_view map_key) const {
  return rule && rule->reduction == CTPROF_REDUCES_BY_KEY &&
         !rules::find_key_kind(map_keys, map_key).is_gauge;
}

const PlannedMetric* MetricPlan::find(std::string_view name) const {
  const auto it = std::find_if(metrics.begin(), metrics.end(),
                               [&](const PlannedMetric& metric) { return metric.name == name; });
  return it == metrics.end() ? nullptr : &*it;
}

const PlannedMetric* MetricPlan::find_column(std::string_view label) const {
  const auto it = std::ranges::find_if(metrics, [&](const PlannedMetric& metric) {
    return metric.headline && metric.headline->label == label && metric.has_number();
  });
  return it == metrics.end() ? nullptr : &*it;
}

bool MetricPlan::has_stacks() const {
  return std::ranges::any_of(metrics, &PlannedMetric::has_stacks);
}

}  // namespace ctprof
