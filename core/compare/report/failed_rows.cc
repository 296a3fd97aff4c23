#include "core/compare/report/failed_rows.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "core/base/text.hpp"
#include "core/compare/asked/expressions.hpp"

namespace ctprof {
namespace {

using Value = Condition::Value;
using ValueType = Condition::ValueType;

Result<const PlannedMetric*> metric_of(const Condition& condition, std::string_view name,
                                       const MetricPlan& plan) {
  if (const PlannedMetric* metric = plan.find(name)) return metric;
  std::vector<std::string> names;
  for (const PlannedMetric& metric : plan.metrics) names.push_back(metric.name);
  return condition.refusal("no metric '" + std::string(name) + "' in what was read" +
                           nearest_hint(name, names));
}

// A condition whose inputs are resolved in the plan.
class Bound {
 public:
  Bound(const Condition& condition, const MetricPlan& plan)
      : condition_(&condition), values_(condition.inputs().size()) {
    for (const auto& input : condition.inputs()) {
      const auto named = figure_named(input.name);
      if (!named) {
        inputs_.push_back({input.name == kGroupName, {}, {}});
        continue;
      }
      const PlannedMetric* metric = plan.find(named->metric);
      entity_ = metric->entity;
      inputs_.push_back(
          {false, static_cast<std::uint32_t>(metric - plan.metrics.data()), named->figure});
    }
  }

  Entity entity() const { return entity_; }

  // Adds the group's rows that match on this side.
  void add_rows(std::set<std::pair<std::uint32_t, std::uint32_t>>& rows, std::uint32_t group,
                std::string_view name, double threads, std::size_t side, const Changes& changes,
                const Rollup& rollup, Families& families) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Input& input = inputs_[i];
      if (input.metric)
        values_[i] = {ValueType::Number, figure({group, *input.metric}, input.figure, side, changes,
                                                rollup, families)};
      else
        values_[i] =
            input.is_name ? Value{ValueType::Text, 0, name} : Value{ValueType::Number, threads};
    }
    if (!any_figure() || !condition_->holds(values_)) return;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].metric && !std::isnan(values_[i].number))
        rows.emplace(group, *inputs_[i].metric);
  }

 private:
  struct Input {
    bool is_name;  // the group's name; otherwise its number of threads if there is no metric
    std::optional<std::uint32_t> metric;
    Figure figure;
  };

  bool any_figure() const {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].metric && !std::isnan(values_[i].number)) return true;
    return false;
  }

  // Returns the value in the user's units: shifts in percent.
  static double of_proof(const std::optional<Proof>& proof, Figure figure) {
    if (!proof) return std::nan("");
    if (figure == Figure::P) return proof->p;
    if (figure == Figure::Shift) return proof->shift * 100;
    return 100 * (figure == Figure::Low ? proof->low : proof->high);
  }

  static double figure(RowAt row, Figure figure, std::size_t side, const Changes& changes,
                       const Rollup& rollup, Families& families) {
    if (is_of_proof(figure)) return of_proof(families.any(row.group, row.metric, side), figure);
    if (figure == Figure::Value)
      return as_double(rollup.read({side, row.group, row.metric}).number);
    const Change change = changes.of(row.group, row.metric, side);
    if (!change.alike) return std::nan("");
    if (figure == Figure::Baseline)
      return as_double(rollup.read({0, row.group, row.metric}).number);
    if (figure == Figure::Candidate)
      return as_double(rollup.read({side, row.group, row.metric}).number);
    if (!change.difference.known()) return std::nan("");
    return figure == Figure::Delta ? change.difference.real : change.pct * 100;
  }

  const Condition* condition_;
  Entity entity_ = Entity::Thread;
  std::vector<Input> inputs_;
  std::vector<Value> values_;
};

}  // namespace

Result<void> check_fail_on(std::span<const Condition> conditions, const MetricPlan& plan,
                           std::span<const SideRuns> sides) {
  for (const Condition& condition : conditions) {
    std::optional<bool> is_host;
    for (const auto& input : condition.inputs()) {
      const auto named = figure_named(input.name);
      if (!named) continue;
      const auto metric = metric_of(condition, named->metric, plan);
      if (!metric) return metric.error();
      if (is_of_proof(named->figure) && !any_judged(sides))
        return condition.refusal("'" + input.name +
                                 "' needs several runs on both sides, as `record --repeat` makes "
                                 "them");
      if (!(*metric)->has_number())
        return condition.refusal("'" + (*metric)->name + "' is not a number");
      const bool host = (*metric)->entity == Entity::Host;
      if (is_host.value_or(host) != host)
        return condition.refusal("metrics of the host and of groups have no row in common");
      is_host = host;
    }
  }
  return {};
}

std::vector<RowAt> failed_rows(std::span<const Condition> conditions, const MetricPlan& plan,
                               const Grouping& grouping, const Changes& changes,
                               const Rollup& rollup, Families& families) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> found;
  for (const Condition& condition : conditions) {
    Bound bound(condition, plan);
    for (std::uint32_t group = 0; group < grouping.count(bound.entity()); ++group) {
      const std::string name = readable_key(grouping.name(bound.entity(), group));
      const std::size_t first = rollup.sides() == 1 ? 0 : 1;
      for (std::size_t side = first; side < rollup.sides(); ++side) {
        const double threads =
            bound.entity() == Entity::Host ? 0 : grouping.sides[side].threads(group);
        bound.add_rows(found, group, name, threads, side, changes, rollup, families);
      }
    }
  }
  std::vector<RowAt> rows;
  for (const auto& [group, metric] : found) rows.push_back({group, metric});
  return rows;
}

namespace {

// Returns the derived metrics that the conditions name.
std::set<std::size_t> judged(std::span<const Condition> fail_on, const MetricPlan& plan) {
  std::set<std::size_t> found;
  for (const Condition& condition : fail_on)
    for (const auto& input : condition.inputs()) {
      const auto named = figure_named(input.name);
      const PlannedMetric* metric = named ? plan.find(named->metric) : nullptr;
      if (metric && metric->expression)
        found.insert(static_cast<std::size_t>(metric - plan.metrics.data()));
    }
  return found;
}

bool is_unlike(std::uint32_t group, std::size_t metric, const Changes& changes,
               const Rollup& rollup) {
  for (std::size_t side = 1; side < rollup.sides(); ++side)
    if (!changes.of(group, metric, side).alike) return true;
  return false;
}

}  // namespace

std::vector<std::string> unlike_parts(std::span<const Condition> fail_on, const MetricPlan& plan,
                                      const Grouping& grouping, const Changes& changes,
                                      const Rollup& rollup) {
  std::vector<std::string> sentences;
  for (const std::size_t metric : judged(fail_on, plan)) {
    const std::size_t groups = grouping.count(plan.metrics[metric].entity);
    std::size_t unlike = 0;
    for (std::uint32_t group = 0; group < groups; ++group)
      unlike += is_unlike(group, metric, changes, rollup);
    if (unlike > 0)
      sentences.push_back("--fail-on does not judge '" + plan.metrics[metric].name + "' of " +
                          std::to_string(unlike) + (unlike == 1 ? " group" : " groups") +
                          ": the sides measured different parts of it");
  }
  return sentences;
}

}  // namespace ctprof
