#include "core/compare/figures/allowance.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace ctprof {
namespace {

// Estimated bytes of one side's value, including its share of the row.
constexpr std::size_t kBytesPerValue = 48;

void add_input_names(std::set<std::string_view>& names, std::span<const Condition> conditions) {
  for (const Condition& condition : conditions)
    for (const auto& input : condition.inputs()) {
      const std::string_view name = input.name;
      names.insert(name);
      names.insert(name.substr(0, name.rfind('.')));  // without the suffix of METRIC.pct
    }
}

}  // namespace

ExpensiveMetricFilter::ExpensiveMetricFilter(const MetricPlan& plan, const Spec& spec,
                                             std::span<const Condition> group_conditions)
    : plan_(&plan), named_(plan.metrics.size()) {
  std::set<std::string_view> names(spec.metrics.begin(), spec.metrics.end());
  for (const SortKey& key : spec.sort) names.insert(key.metric);
  add_input_names(names, group_conditions);
  add_input_names(names, spec.fail_on);
  for (std::size_t i = 0; i < named_.size(); ++i)
    if (names.contains(plan.metrics[i].name)) mark_as_named(i);
}

// Marks the metric and its inputs. Inputs are plain metrics or map keys; the input of a key is its
// map.
void ExpensiveMetricFilter::mark_as_named(std::size_t metric) {
  named_[metric] = true;
  for (const auto& input : plan_->metrics[metric].inputs)
    if (input) mark_as_named(*input);
}

template <class Groups>
std::vector<bool> ExpensiveMetricFilter::find_over_allowance(Allowance allowance,
                                                             const Groups& groups,
                                                             std::size_t runs) const {
  const std::vector<PlannedMetric>& metrics = plan_->metrics;
  std::vector<bool> is_over_allowance(metrics.size());
  const auto omit_if_expensive = [&](std::size_t i) {
    const bool fits = allowance.spend(kBytesPerValue * runs * groups.count(metrics[i].entity));
    const bool lacks_input = std::ranges::any_of(
        metrics[i].inputs, [&](const auto& input) { return input && is_over_allowance[*input]; });
    is_over_allowance[i] = !named_[i] && (!fits || lacks_input);
  };
  const auto omit_expensive = [&](const auto& is_next) {
    for (std::size_t i = 0; i < metrics.size(); ++i)
      if (is_next(i)) omit_if_expensive(i);
  };
  const auto is_plain = [&](std::size_t i) { return !metrics[i].expression; };
  omit_expensive([&](std::size_t i) { return named_[i]; });
  omit_expensive([&](std::size_t i) { return !named_[i] && metrics[i].is_shown && is_plain(i); });
  omit_expensive([&](std::size_t i) { return !named_[i] && metrics[i].is_shown && !is_plain(i); });
  omit_expensive([&](std::size_t i) { return !named_[i] && !metrics[i].is_shown; });
  return is_over_allowance;
}

std::vector<bool> ExpensiveMetricFilter::find_for_run(const RunGroups& groups,
                                                      std::size_t text_bytes,
                                                      std::size_t runs) const {
  return find_over_allowance(Allowance(text_bytes, runs), groups, 1);
}

std::vector<bool> ExpensiveMetricFilter::find_for_all_runs(
    const Grouping& grouping, std::span<const std::size_t> text_bytes) const {
  return find_over_allowance(Allowance(text_bytes), grouping, text_bytes.size());
}

void omit_metrics(MetricPlan& plan, const std::vector<bool>& is_over_allowance,
                  std::size_t groups) {
  std::size_t count = 0;  // number of omitted metrics that would have been shown
  std::string first;
  for (std::size_t i = 0; i < is_over_allowance.size(); ++i) {
    PlannedMetric& metric = plan.metrics[i];
    metric.is_omitted = is_over_allowance[i];
    if (!metric.is_omitted || !metric.is_shown) continue;
    metric.is_shown = false;
    if (count++ == 0) first = metric.name;
  }
  if (count == 0) return;
  const std::string others = count > 1 ? " and " + std::to_string(count - 1) + " more are" : " is";
  plan.notes.push_back("metric '" + first + "'" + others + " left out: " + std::to_string(groups) +
                       " groups with all metrics exceed the limit for files of this size; select "
                       "metrics with --metrics");
}

}  // namespace ctprof
