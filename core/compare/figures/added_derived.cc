#include "core/compare/figures/added_derived.hpp"

#include <algorithm>
#include <optional>

#include "core/base/nearest.hpp"
#include "core/compare/asked/derive.hpp"

namespace ctprof {
namespace {

Error refusal(const DerivedDef& asked, const std::string& cause) {
  return derive_refusal(asked.name + " = " + asked.expression, cause);
}

bool is_taken(const MetricPlan& plan, std::span<const Snapshot* const> sides,
              const std::string& name) {
  if (plan.find(name)) return true;
  return std::any_of(sides.begin(), sides.end(), [&](const Snapshot* side) {
    const bool as_column = std::any_of(side->tables.begin(), side->tables.end(),
                                       [&](const Table& t) { return t.find(name); });
    return as_column || std::any_of(side->derived.begin(), side->derived.end(),
                                    [&](const DerivedDef& d) { return d.name == name; });
  });
}

// What can be computed with.
bool is_input(const PlannedMetric& metric) { return !metric.expression && metric.has_number(); }

// Cgroups have metrics only where they are the groups.
bool is_of_cgroups(std::span<const Snapshot* const> sides, const std::string& name) {
  return std::any_of(sides.begin(), sides.end(), [&](const Snapshot* side) {
    return side->table(Entity::Cgroup).find(name) != nullptr;
  });
}

Result<std::size_t> find_input(const MetricPlan& plan, std::span<const Snapshot* const> sides,
                               const DerivedDef& asked, const std::string& name) {
  if (const PlannedMetric* metric = plan.find(name)) {
    if (metric->expression)
      return refusal(asked, "'" + name + "' is derived itself; write what it stands for");
    if (!is_input(*metric)) return refusal(asked, "'" + name + "' is not a number");
    return static_cast<std::size_t>(metric - plan.metrics.data());
  }
  if (is_of_cgroups(sides, name))
    return refusal(asked, "'" + name +
                              "' is a metric of cgroups: use --group-by cgroup, and no "
                              "metric of threads beside it");
  std::vector<std::string> names;
  for (const PlannedMetric& metric : plan.metrics)
    if (is_input(metric)) names.push_back(metric.name);
  return refusal(asked, "no metric '" + name + "' in what was read" + nearest_hint(name, names));
}

// "threads", "cgroups": what the metric is of.
std::string plural(Entity entity) {
  if (entity == Entity::Host) return "the host";
  return std::string(name(entity)) + (entity == Entity::Process ? "es" : "s");
}

// The readings of an entity are summed over its own rows, which are not those of another.
Error mixed(const DerivedDef& asked, const PlannedMetric& first, const PlannedMetric& other) {
  return refusal(asked, "'" + first.name + "' is a metric of " + plural(first.entity) + ", '" +
                            other.name + "' of " + plural(other.entity) +
                            "; a formula can combine metrics of one of them only");
}

Result<PlannedMetric> planned(const MetricPlan& plan, std::span<const Snapshot* const> sides,
                              const DerivedDef& asked) {
  auto expression = Expression::parse(asked.expression);
  if (!expression) return expression.error();
  PlannedMetric metric;
  std::vector<std::string> units;
  for (const auto& input : expression->inputs()) {
    const auto found = find_input(plan, sides, asked, input.name);
    if (!found) return found.error();
    const PlannedMetric& read = plan.metrics[*found];
    if (!metric.inputs.empty() && read.entity != metric.entity)
      return mixed(asked, plan.metrics[*metric.inputs.front()], read);
    metric.entity = read.entity;
    metric.inputs.push_back(*found);
    units.push_back(read.unit);
  }
  auto unit = expression->unit(units);
  if (!unit) return refusal(asked, unit.error().text);
  metric.name = asked.name;
  metric.unit = std::move(*unit);
  metric.section = asked.section;
  metric.expression = std::move(*expression);
  return metric;
}

}  // namespace

Result<void> add_derived(MetricPlan& plan, std::span<const Snapshot* const> sides,
                         std::span<const DerivedDef> asked) {
  for (const DerivedDef& one : asked) {
    if (is_taken(plan, sides, one.name))
      return refusal(one, "there is a metric '" + one.name + "' already");
    auto metric = planned(plan, sides, one);
    if (!metric) return metric.error();
    plan.metrics.push_back(std::move(*metric));
  }
  return {};
}

}  // namespace ctprof
