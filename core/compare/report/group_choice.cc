#include "core/compare/report/group_choice.hpp"

#include <string>
#include <vector>

#include "core/compare/asked/group_inputs.hpp"

namespace ctprof {
namespace {

using Kind = Condition::ValueType;
using Value = Condition::Value;

// One condition, with its metrics found in the plan.
class Chooser {
 public:
  Chooser(const Condition& condition, const Grouping& grouping, const MetricPlan& plan,
          const Rollup& rollup)
      : condition_(&condition), grouping_(&grouping), rollup_(&rollup) {
    for (const auto& input : condition.inputs()) {
      const PlannedMetric* metric = is_of_groups(input.name) ? nullptr : plan.find(input.name);
      metrics_.push_back(metric ? static_cast<std::size_t>(metric - plan.metrics.data()) : 0);
    }
  }

  bool holds(std::size_t side, std::uint32_t group, std::string_view name) const {
    std::vector<Value> values;
    for (std::size_t i = 0; i < metrics_.size(); ++i) values.push_back(value(i, side, group, name));
    return condition_->holds(values);
  }

 private:
  Value value(std::size_t i, std::size_t side, std::uint32_t group, std::string_view name) const {
    const std::string& input = condition_->inputs()[i].name;
    if (input == kGroupName) return {Kind::Text, 0, name};
    if (input == kGroupThreads)
      return {Kind::Number, static_cast<double>(grouping_->sides[side].threads(group))};
    return {Kind::Number, as_double(rollup_->read({side, group, metrics_[i]}).number)};
  }

  const Condition* condition_;
  const Grouping* grouping_;
  const Rollup* rollup_;
  std::vector<std::size_t> metrics_;  // of each input; of no account where it is none
};

}  // namespace

void keep_groups(Grouping& grouping, std::span<const Condition> conditions, const Rollup& rollup,
                 const MetricPlan& plan) {
  std::vector<bool> stays(grouping.names.size(), true);
  for (const Condition& condition : conditions) {
    const Chooser chooser(condition, grouping, plan, rollup);
    for (std::uint32_t group = 0; group < grouping.names.size(); ++group) {
      if (!stays[group]) continue;
      const std::string name = readable_key(grouping.names[group]);
      bool any = false;
      for (std::size_t side = 0; side < rollup.sides() && !any; ++side)
        any = grouping.has(side, group) && chooser.holds(side, group, name);
      stays[group] = any;
    }
  }
  grouping.keep(stays);
}

}  // namespace ctprof
