#include "core/compare/figures/allowance.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace ctprof {
namespace {

// Estimated bytes of one side's value, including its share of the row.
constexpr std::size_t kCell = 48;

void add_named(std::set<std::string_view>& names, std::span<const Condition> conditions) {
  for (const Condition& condition : conditions)
    for (const auto& input : condition.inputs()) {
      const std::string_view name = input.name;
      names.insert(name);
      names.insert(name.substr(0, name.rfind('.')));  // without the suffix of METRIC.pct
    }
}

}  // namespace

CostlyMetrics::CostlyMetrics(const MetricPlan& plan, const Spec& spec,
                             std::span<const Condition> of_groups)
    : plan_(&plan), named_(plan.metrics.size()) {
  std::set<std::string_view> names(spec.metrics.begin(), spec.metrics.end());
  for (const SortKey& key : spec.sort) names.insert(key.metric);
  add_named(names, of_groups);
  add_named(names, spec.fail_on);
  for (std::size_t i = 0; i < named_.size(); ++i)
    if (names.contains(plan.metrics[i].name)) name(i);
}

// Marks the metric and its inputs. Inputs are plain metrics or map keys; the input of a key is its
// map.
void CostlyMetrics::name(std::size_t metric) {
  named_[metric] = true;
  for (const auto& input : plan_->metrics[metric].inputs)
    if (input) name(*input);
}

template <class Groups>
std::vector<bool> CostlyMetrics::beyond(Allowance room, const Groups& groups,
                                        std::size_t runs) const {
  const std::vector<PlannedMetric>& metrics = plan_->metrics;
  std::vector<bool> costly(metrics.size());
  const auto decide = [&](std::size_t i) {
    const bool has_room = room.spend(kCell * runs * groups.count(metrics[i].entity));
    const bool lacks_input = std::ranges::any_of(
        metrics[i].inputs, [&](const auto& input) { return input && costly[*input]; });
    costly[i] = !named_[i] && (!has_room || lacks_input);
  };
  const auto decide_all = [&](const auto& is_next) {
    for (std::size_t i = 0; i < metrics.size(); ++i)
      if (is_next(i)) decide(i);
  };
  const auto is_plain = [&](std::size_t i) { return !metrics[i].expression; };
  decide_all([&](std::size_t i) { return named_[i]; });
  decide_all([&](std::size_t i) { return !named_[i] && metrics[i].shown && is_plain(i); });
  decide_all([&](std::size_t i) { return !named_[i] && metrics[i].shown && !is_plain(i); });
  decide_all([&](std::size_t i) { return !named_[i] && !metrics[i].shown; });
  return costly;
}

std::vector<bool> CostlyMetrics::of_run(const RunGroups& groups, std::size_t text_bytes,
                                        std::size_t runs) const {
  return beyond(Allowance(text_bytes, runs), groups, 1);
}

std::vector<bool> CostlyMetrics::of_all(const Grouping& grouping,
                                        std::span<const std::size_t> text_bytes) const {
  return beyond(Allowance(text_bytes), grouping, text_bytes.size());
}

void leave_out(MetricPlan& plan, const std::vector<bool>& costly, std::size_t groups) {
  std::size_t count = 0;  // number of omitted metrics that would have been shown
  std::string first;
  for (std::size_t i = 0; i < costly.size(); ++i) {
    PlannedMetric& metric = plan.metrics[i];
    metric.left_out = costly[i];
    if (!metric.left_out || !metric.shown) continue;
    metric.shown = false;
    if (count++ == 0) first = metric.name;
  }
  if (count == 0) return;
  const std::string others = count > 1 ? " and " + std::to_string(count - 1) + " more are" : " is";
  plan.notes.push_back("metric '" + first + "'" + others + " left out: " + std::to_string(groups) +
                       " groups of so many metrics are more than files of this size may ask "
                       "for; --metrics names those that are wanted");
}

}  // namespace ctprof
