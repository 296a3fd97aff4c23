#include "core/compare/report/fail_on_rows.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "core/base/text.hpp"
#include "core/compare/request/expressions.hpp"
#include "core/registry/missing_metric.hpp"

namespace ctprof {
namespace {

using Value = Condition::Value;
using ValueType = Condition::ValueType;

Result<const PlannedMetric*> find_metric(const Condition& condition, std::string_view name,
                                         const MetricPlan& plan) {
  if (const PlannedMetric* metric = plan.find(name)) return metric;
  std::vector<std::string> names;
  for (const PlannedMetric& metric : plan.metrics) names.push_back(metric.name);
  return condition.refusal(describe_missing_metric(name, names));
}

// A condition whose inputs are resolved in the plan.
class BoundCondition {
 public:
  BoundCondition(const Condition& condition, const MetricPlan& plan)
      : condition_(&condition), values_(condition.inputs().size()) {
    for (const auto& input : condition.inputs()) {
      const auto named = parse_figure_name(input.name);
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
    if (!has_any_figure() || !condition_->is_true(values_)) return;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].metric && !std::isnan(values_[i].number))
        rows.emplace(group, *inputs_[i].metric);
  }

 private:
  struct Input {
    bool is_name;  // without a metric: the group's name, otherwise its number of threads
    std::optional<std::uint32_t> metric;
    Figure figure;
  };

  bool has_any_figure() const {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].metric && !std::isnan(values_[i].number)) return true;
    return false;
  }

  // Returns the value in the user's units: shifts in percent.
  static double value_of_result(const std::optional<RowTestResult>& test_result, Figure figure) {
    if (!test_result) return std::nan("");
    if (figure == Figure::P) return test_result->p;
    if (figure == Figure::Shift) return test_result->shift * 100;
    return 100 * (figure == Figure::Low ? test_result->low : test_result->high);
  }

  static double figure(RowPosition row, Figure figure, std::size_t side, const Changes& changes,
                       const Rollup& rollup, Families& families) {
    if (needs_several_runs(figure))
      return value_of_result(families.find_result(row.group, row.metric, side), figure);
    if (figure == Figure::Value)
      return as_double(rollup.read({side, row.group, row.metric}).number);
    const Change change = changes.change(row.group, row.metric, side);
    if (!change.has_same_parts) return std::nan("");
    if (figure == Figure::Baseline)
      return as_double(rollup.read({0, row.group, row.metric}).number);
    if (figure == Figure::Candidate)
      return as_double(rollup.read({side, row.group, row.metric}).number);
    if (!change.difference.is_known()) return std::nan("");
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
      const auto named = parse_figure_name(input.name);
      if (!named) continue;
      CTPROF_TRY_VALUE(const auto metric, find_metric(condition, named->metric, plan));
      if (needs_several_runs(named->figure) && !has_testable_side(sides))
        return condition.refusal("'" + input.name +
                                 "' needs several runs on both sides, as `record --repeat` makes "
                                 "them");
      if (!metric->has_number()) return condition.refusal("'" + metric->name + "' is not a number");
      const bool host = metric->entity == Entity::Host;
      if (is_host.value_or(host) != host)
        return condition.refusal("no row has metrics of both the host and a group");
      is_host = host;
    }
  }
  return {};
}

std::vector<RowPosition> find_fail_on_rows(std::span<const Condition> conditions,
                                           const MetricPlan& plan, const Grouping& grouping,
                                           const Changes& changes, const Rollup& rollup,
                                           Families& families) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> found;
  for (const Condition& condition : conditions) {
    BoundCondition bound(condition, plan);
    for (std::uint32_t group = 0; group < grouping.count(bound.entity()); ++group) {
      const std::string name = readable_key(
          name_in_condition(grouping, grouping.name(bound.entity(), group), condition.text()));
      const std::size_t first = rollup.sides() == 1 ? 0 : 1;
      for (std::size_t side = first; side < rollup.sides(); ++side) {
        const double threads =
            bound.entity() == Entity::Host ? 0 : grouping.sides[side].threads(group);
        bound.add_rows(found, group, name, threads, side, changes, rollup, families);
      }
    }
  }
  std::vector<RowPosition> rows;
  for (const auto& [group, metric] : found) rows.push_back({group, metric});
  return rows;
}

namespace {

// Returns the derived metrics that the conditions name.
std::set<std::size_t> find_tested_metrics(std::span<const Condition> fail_on,
                                          const MetricPlan& plan) {
  std::set<std::size_t> found;
  for (const Condition& condition : fail_on)
    for (const auto& input : condition.inputs()) {
      const auto named = parse_figure_name(input.name);
      const PlannedMetric* metric = named ? plan.find(named->metric) : nullptr;
      if (metric && metric->expression)
        found.insert(static_cast<std::size_t>(metric - plan.metrics.data()));
    }
  return found;
}

bool has_different_parts(std::uint32_t group, std::size_t metric, const Changes& changes,
                         const Rollup& rollup) {
  for (std::size_t side = 1; side < rollup.sides(); ++side)
    if (!changes.change(group, metric, side).has_same_parts) return true;
  return false;
}

}  // namespace

std::vector<std::string> describe_untestable_metrics(std::span<const Condition> fail_on,
                                                     const MetricPlan& plan,
                                                     const Grouping& grouping,
                                                     const Changes& changes, const Rollup& rollup) {
  std::vector<std::string> sentences;
  for (const std::size_t metric : find_tested_metrics(fail_on, plan)) {
    const std::size_t groups = grouping.count(plan.metrics[metric].entity);
    std::size_t groups_with_different_parts = 0;
    for (std::uint32_t group = 0; group < groups; ++group)
      groups_with_different_parts += has_different_parts(group, metric, changes, rollup);
    if (groups_with_different_parts > 0)
      sentences.push_back("--fail-on does not test '" + plan.metrics[metric].name + "' of " +
                          format_count(groups_with_different_parts, "group") +
                          ": the sides measured different parts of the metric");
  }
  return sentences;
}

}  // namespace ctprof
