#include "core/compare/figures/added_metrics.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/base/text.hpp"
#include "core/compare/request/expressions.hpp"
#include "core/expression/expression_parser.hpp"
#include "core/registry/derived_family.hpp"
#include "core/registry/map_labels.hpp"
#include "core/registry/missing_metric.hpp"
#include "core/rules/maps.hpp"

namespace ctprof {
namespace {

void add_inputs(std::set<std::string>& names, std::span<const Program::Input> inputs) {
  for (const auto& input : inputs) names.insert(input.name);
}

std::set<std::string> names_used_by(const Spec& spec) {
  std::set<std::string> names(spec.metrics.begin(), spec.metrics.end());
  for (const SortKey& key : spec.sort) names.insert(key.metric);
  for (const DerivedDef& derived : spec.derive)
    if (const auto expression = Expression::parse(derived.expression))
      add_inputs(names, expression->inputs());
  for (const Condition& condition : spec.where.conditions) add_inputs(names, condition.inputs());
  for (const Condition& condition : spec.fail_on)
    for (const auto& input : condition.inputs())
      if (const auto named = parse_figure_name(input.name)) names.emplace(named->metric);
  return names;
}

// The part of a histogram that its column on the first screen shows.
constexpr const char* kColumnPart = "p99";

// Returns all keys that the map has on any side.
std::set<std::string_view> keys_of(const PlannedMetric& map,
                                   std::span<const Snapshot* const> sides) {
  std::set<std::string_view> keys;
  if (map.is_histogram())
    for (const rules::HistogramPart& part : rules::histogram_parts({})) keys.insert(part.name);
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

PlannedMetric make_key_metric(const MetricPlan& plan, const PlannedMetric& map,
                              const std::string& key) {
  const std::string_view unit = rules::find_key_kind(map.map_keys, key).unit;
  PlannedMetric metric;
  metric.name = format_key_name(map.name, key);
  metric.entity = map.entity;
  metric.unit = unit.empty() ? map.unit : std::string(unit);
  metric.section = map.section;
  metric.tags = map.tags;
  metric.is_cumulative = map.key_is_cumulative(key);
  metric.is_sum = map.key_is_sum(key);
  metric.key = key;
  metric.inputs = {static_cast<std::size_t>(&map - plan.metrics.data())};
  return metric;
}

}  // namespace

void add_histogram_columns(MetricPlan& plan) {
  for (std::size_t at = 0; at < plan.metrics.size(); ++at) {
    if (!plan.metrics[at].is_histogram() || !plan.metrics[at].headline) continue;
    const std::string name = format_key_name(plan.metrics[at].name, kColumnPart);
    if (!plan.find(name))
      plan.metrics.push_back(make_key_metric(plan, plan.metrics[at], kColumnPart));
    const auto column = std::ranges::find(plan.metrics, name, &PlannedMetric::name);
    column->headline = plan.metrics[at].headline;
  }
}

bool may_name_map_keys(const Spec& spec) {
  return std::ranges::any_of(names_used_by(spec),
                             [](const std::string& name) { return split_key(name).has_value(); });
}

Result<void> add_key_metrics(MetricPlan& plan, std::span<const Snapshot* const> sides,
                             const Spec& spec) {
  for (const std::string& name : names_used_by(spec)) {
    const auto split = split_key(name);
    const PlannedMetric* map = split ? plan.find(split->metric) : nullptr;
    if (!map || !map->is_map()) continue;
    const auto keys = keys_of(*map, sides);
    const auto key = std::ranges::find_if(keys, [&](std::string_view one) {
      return one == split->key ||
             (!map->labels.empty() && format_labelled_key(map->labels, one) == split->key);
    });
    if (key == keys.end()) {
      const std::vector<std::string> known_keys(keys.begin(), keys.end());
      return Error{"'" + map->name + "' has no key '" + split->key + "' in the input" +
                   suggest_nearest(split->key, known_keys)};
    }
    PlannedMetric metric = make_key_metric(plan, *map, std::string(*key));
    metric.name = name;
    plan.metrics.push_back(std::move(metric));
  }
  return {};
}

namespace {

Error refusal(const DerivedDef& definition, const std::string& cause) {
  return derive_refusal(definition.name + " = " + definition.expression, cause);
}

bool name_exists(const MetricPlan& plan, std::span<const Snapshot* const> sides,
                 const std::string& name) {
  if (plan.find(name)) return true;
  return std::any_of(sides.begin(), sides.end(), [&](const Snapshot* side) {
    const bool as_column = std::any_of(side->tables.begin(), side->tables.end(),
                                       [&](const Table& t) { return t.find(name); });
    return as_column || std::any_of(side->derived.begin(), side->derived.end(),
                                    [&](const DerivedDef& d) { return d.name == name; });
  });
}

bool can_be_input(const PlannedMetric& metric) {
  return !metric.expression && metric.has_number() && metric.counter_of_total.empty();
}

// Cgroups have metrics only if the axis groups by cgroup.
bool is_cgroup_metric(std::span<const Snapshot* const> sides, const std::string& name) {
  return std::any_of(sides.begin(), sides.end(), [&](const Snapshot* side) {
    return side->table(Entity::Cgroup).find(name) != nullptr;
  });
}

Result<std::size_t> find_input(const MetricPlan& plan, std::span<const Snapshot* const> sides,
                               const DerivedDef& definition, const std::string& name) {
  if (const PlannedMetric* metric = plan.find(name)) {
    if (metric->expression)
      return refusal(definition, "'" + name + "' is derived itself; write out its formula");
    if (!can_be_input(*metric)) return refusal(definition, "'" + name + "' is not a number");
    return static_cast<std::size_t>(metric - plan.metrics.data());
  }
  if (is_cgroup_metric(sides, name))
    return refusal(definition, "'" + name +
                                   "' is a metric of cgroups: use --group-by cgroup, and no "
                                   "metrics of threads in the same formula");
  std::vector<std::string> names;
  for (const PlannedMetric& metric : plan.metrics)
    if (can_be_input(metric)) names.push_back(metric.name);
  return refusal(definition, describe_missing_metric(name, names));
}

// Returns the plural of the entity for messages: "threads", "cgroups".
std::string entity_plural(Entity entity) {
  if (entity == Entity::Host) return "the host";
  return inflect(2, name(entity));
}

Error mixed_entities_error(const DerivedDef& definition, const PlannedMetric& first,
                           const PlannedMetric& other) {
  return refusal(definition, "'" + first.name + "' is a metric of " + entity_plural(first.entity) +
                                 ", '" + other.name + "' of " + entity_plural(other.entity) +
                                 "; a formula can only combine metrics of one kind of row");
}

Result<PlannedMetric> plan_derived(const MetricPlan& plan, std::span<const Snapshot* const> sides,
                                   const DerivedDef& definition) {
  CTPROF_TRY_VALUE(auto expression, Expression::parse(definition.expression));
  PlannedMetric metric;
  std::vector<std::string> units;
  std::vector<FigureKind> kinds;
  for (const auto& input : expression.inputs()) {
    CTPROF_TRY_VALUE(const auto found, find_input(plan, sides, definition, input.name));
    const PlannedMetric& input_metric = plan.metrics[found];
    if (!metric.inputs.empty() && input_metric.entity != metric.entity)
      return mixed_entities_error(definition, plan.metrics[*metric.inputs.front()], input_metric);
    metric.entity = input_metric.entity;
    metric.inputs.push_back(found);
    units.push_back(input_metric.unit);
    kinds.push_back(input_metric.is_cumulative ? FigureKind::Counter : FigureKind::Level);
  }
  auto unit = expression.unit(units);
  if (!unit) return refusal(definition, unit.error().text);
  const auto family = derived_family(expression, kinds, {});
  if (!family) return refusal(definition, family.error().text);
  metric.family = name(*family);
  metric.is_cumulative = *family == DerivedFamily::Counter;
  metric.name = definition.name;
  metric.unit = std::move(*unit);
  metric.section = definition.section;
  metric.expression = std::move(expression);
  return metric;
}

}  // namespace

Result<void> add_derived(MetricPlan& plan, std::span<const Snapshot* const> sides,
                         std::span<const DerivedDef> definitions) {
  for (const DerivedDef& definition : definitions) {
    if (name_exists(plan, sides, definition.name))
      return refusal(definition, "metric '" + definition.name + "' already exists");
    CTPROF_TRY_VALUE(auto metric, plan_derived(plan, sides, definition));
    plan.metrics.push_back(std::move(metric));
  }
  return {};
}

}  // namespace ctprof
