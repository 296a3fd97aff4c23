#include "core/compare/figures/key_metrics.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "core/base/nearest.hpp"
#include "core/compare/asked/fail_on.hpp"
#include "core/rules/map_keys.hpp"

namespace ctprof {
namespace {

// "metric[key]"; both empty where the name is of another form.
struct KeyName {
  std::string_view map, key;
};

KeyName split_key(std::string_view name) {
  const auto open = name.find('[');
  if (open == name.npos || !name.ends_with(']')) return {};
  return {name.substr(0, open), name.substr(open + 1, name.size() - open - 2)};
}

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

// All keys that the map has anywhere, and what the metric says of them.
struct Keys {
  std::set<std::string_view> all;
  std::string_view said;
};

Keys keys_of(const PlannedMetric& map, std::span<const Snapshot* const> sides) {
  Keys keys;
  for (const Snapshot* side : sides) {
    const Column* column = side->table(map.entity).find(map.name);
    if (!column || column->def().storage != Storage::Map) continue;
    keys.said = column->def().map_keys;
    for (std::size_t row = 0; row < column->rows(); ++row)
      if (column->has_value(row))
        for (const ctprof_entry& entry : side->pools->maps[column->ids()[row]])
          keys.all.emplace(entry.key.data, entry.key.size);
  }
  return keys;
}

PlannedMetric key_metric(const MetricPlan& plan, const PlannedMetric& map, const KeyName& name,
                         std::string_view said) {
  const rules::KeyKind kind = rules::kind_of_key(said, name.key);
  PlannedMetric metric;
  metric.name = map.name + "[" + std::string(name.key) + "]";
  metric.entity = map.entity;
  metric.unit = kind.unit.empty() ? map.unit : std::string(kind.unit);
  metric.section = map.section;
  metric.tags = map.tags;
  metric.adds_up = !kind.gauge && (map.adds_up || !said.empty());
  metric.key = std::string(name.key);
  metric.inputs = {static_cast<std::size_t>(&map - plan.metrics.data())};
  return metric;
}

}  // namespace

Result<void> add_key_metrics(MetricPlan& plan, std::span<const Snapshot* const> sides,
                             const Spec& spec) {
  for (const std::string& name : names_in(spec)) {
    const KeyName asked = split_key(name);
    const PlannedMetric* map = asked.map.empty() ? nullptr : plan.find(asked.map);
    if (!map || !map->rule || !map->rule->parts) continue;
    const Keys keys = keys_of(*map, sides);
    if (!keys.all.contains(asked.key)) {
      const std::vector<std::string> known(keys.all.begin(), keys.all.end());
      return Error{"no key '" + std::string(asked.key) + "' of '" + map->name +
                   "' in what was read" + nearest_hint(asked.key, known)};
    }
    plan.metrics.push_back(key_metric(plan, *map, asked, keys.said));
  }
  return {};
}

}  // namespace ctprof
