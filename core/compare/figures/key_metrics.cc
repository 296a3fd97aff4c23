#include "core/compare/figures/key_metrics.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "core/base/nearest.hpp"
#include "core/compare/asked/fail_on.hpp"
#include "core/expression/expression_parser.hpp"
#include "core/rules/map_keys.hpp"

namespace ctprof {
namespace {

void add_inputs(std::set<std::string>& names, std::span<const Program::Input> inputs) {
  for (const auto& input : inputs) names.insert(input.name);
}

std::set<std::string> names_in(const Spec& spec) {
  std::set<std::string> names(spec.metrics.begin(), spec.metrics.end());
  for (const SortKey& key : spec.sort) names.insert(key.metric);
  for (const DerivedDef& derived : spec.derive)
    if (const auto expression = Expression::parse(derived.expression))
      add_inputs(names, expression->inputs());
  for (const Condition& condition : spec.where.conditions) add_inputs(names, condition.inputs());
  for (const Condition& condition : spec.fail_on)
    for (const auto& input : condition.inputs())
      if (const auto named = figure_named(input.name)) names.emplace(named->metric);
  return names;
}

// All keys that the map has anywhere.
std::set<std::string_view> keys_of(const PlannedMetric& map,
                                   std::span<const Snapshot* const> sides) {
  std::set<std::string_view> keys;
  for (const Snapshot* side : sides) {
    const Column* column = side->table(map.entity).find(map.name);
    if (!column || column->def().storage != Storage::Map) continue;
    for (std::size_t row = 0; row < column->rows(); ++row)
      if (column->has_value(row))
        for (const ctprof_entry& entry : side->pools->maps[column->ids()[row]])
          keys.emplace(entry.key.data, entry.key.size);
  }
  return keys;
}

PlannedMetric key_metric(const MetricPlan& plan, const PlannedMetric& map, const std::string& key) {
  const std::string_view unit = rules::kind_of_key(map.map_keys, key).unit;
  PlannedMetric metric;
  metric.name = key_name(map.name, key);
  metric.entity = map.entity;
  metric.unit = unit.empty() ? map.unit : std::string(unit);
  metric.section = map.section;
  metric.tags = map.tags;
  metric.adds_up = map.key_adds_up(key);
  metric.key = key;
  metric.inputs = {static_cast<std::size_t>(&map - plan.metrics.data())};
  return metric;
}

}  // namespace

Result<void> add_key_metrics(MetricPlan& plan, std::span<const Snapshot* const> sides,
                             const Spec& spec) {
  for (const std::string& name : names_in(spec)) {
    const auto asked = split_key(name);
    const PlannedMetric* map = asked ? plan.find(asked->metric) : nullptr;
    if (!map || !map->is_map()) continue;
    const auto keys = keys_of(*map, sides);
    if (!keys.contains(asked->key)) {
      const std::vector<std::string> known(keys.begin(), keys.end());
      return Error{"no key '" + asked->key + "' of '" + map->name + "' in what was read" +
                   nearest_hint(asked->key, known)};
    }
    plan.metrics.push_back(key_metric(plan, *map, asked->key));
  }
  return {};
}

}  // namespace ctprof
