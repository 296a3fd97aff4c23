#include "core/compare/figures/plan_inputs.hpp"

#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace ctprof {
namespace {

// Returns the entity whose rows have the same groups as the rows of this one.
Entity entity_with_same_groups(Entity entity) {
  if (entity == Entity::Thread) return Entity::Process;
  return entity == Entity::Process ? Entity::Thread : entity;
}

// Returns a hidden copy of the counter that has its total.
PlannedMetric make_total(const PlannedMetric& counter) {
  PlannedMetric total = counter;
  total.counter_of_total = counter.name;
  total.name += " (total)";  // the space prevents users from naming it
  total.family = "gauge";
  total.is_cumulative = total.is_shown = false;
  total.headline.reset();
  total.role.clear();
  return total;
}

}  // namespace

void connect_inputs(MetricPlan& plan) {
  std::map<std::pair<Entity, std::string_view>, std::size_t> numbers;
  for (std::size_t i = 0; i < plan.metrics.size(); ++i)
    if (const PlannedMetric& metric = plan.metrics[i]; metric.rule && metric.rule->number)
      numbers.try_emplace({metric.entity, metric.name}, i);
  for (PlannedMetric& metric : plan.metrics) {
    if (!metric.expression) continue;
    for (const Expression::Input& input : metric.expression->inputs()) {
      auto it = numbers.find({metric.entity, input.name});
      if (it == numbers.end())
        it = numbers.find({entity_with_same_groups(metric.entity), input.name});
      metric.inputs.push_back(it == numbers.end() ? std::optional<std::size_t>() : it->second);
    }
  }
}

void connect_totals(const std::set<std::string>& gauges, MetricPlan& plan) {
  std::map<std::size_t, std::size_t> totals;  // by counter
  for (std::size_t i = 0, count = plan.metrics.size(); i < count; ++i) {
    if (!gauges.contains(plan.metrics[i].name)) continue;
    for (std::size_t at = 0; at < plan.metrics[i].inputs.size(); ++at) {
      const std::optional<std::size_t> input = plan.metrics[i].inputs[at];
      if (!input || !plan.metrics[*input].is_cumulative) continue;
      const auto [total, is_new] = totals.try_emplace(*input, plan.metrics.size());
      if (is_new) plan.metrics.push_back(make_total(plan.metrics[*input]));
      plan.metrics[i].inputs[at] = total->second;
    }
  }
}

}  // namespace ctprof
