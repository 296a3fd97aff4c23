#include "core/compare/figures/allowance.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace ctprof {
namespace {

// Bytes for a value of one side and its part of a row.
constexpr std::size_t kCell = 48;

void add_named(std::set<std::string_view>& names, std::span<const Condition> conditions) {
  for (const Condition& condition : conditions)
    for (const auto& input : condition.inputs()) {
      const std::string_view name = input.name;
      names.insert(name);
      names.insert(name.substr(0, name.rfind('.')));  // of METRIC.pct
    }
}

class MetricChoice {
 public:
  MetricChoice(MetricPlan& plan, const Grouping& grouping, std::span<const Snapshot* const> sides)
      : plan_(&plan),
        grouping_(&grouping),
        sides_(sides.size()),
        room_(sides),
        named_(plan.metrics.size()) {}

  void name(const std::set<std::string_view>& names) {
    for (std::size_t i = 0; i < named_.size(); ++i)
      if (names.contains(plan_->metrics[i].name)) name(i);
  }

  void choose() {
    for (const auto rank : {&MetricChoice::is_first, &MetricChoice::is_shown,
                            &MetricChoice::is_shown_derived, &MetricChoice::is_rest})
      for (std::size_t i = 0; i < named_.size(); ++i)
        if ((this->*rank)(i)) decide(i);
    say();
  }

 private:
  // Inputs are plain metrics or keys of maps; the input of a key is its map.
  void name(std::size_t metric) {
    named_[metric] = true;
    for (const auto& input : plan_->metrics[metric].inputs)
      if (input) name(*input);
  }

  const PlannedMetric& at(std::size_t i) const { return plan_->metrics[i]; }
  bool is_first(std::size_t i) const { return named_[i]; }
  bool is_shown(std::size_t i) const { return !named_[i] && at(i).shown && !at(i).expression; }
  bool is_shown_derived(std::size_t i) const {
    return !named_[i] && at(i).shown && at(i).expression;
  }
  bool is_rest(std::size_t i) const { return !named_[i] && !at(i).shown; }

  void decide(std::size_t i) {
    PlannedMetric& metric = plan_->metrics[i];
    const bool has_room = room_.spend(kCell * sides_ * grouping_->count(metric.entity));
    const bool lacks_input =
        std::any_of(metric.inputs.begin(), metric.inputs.end(),
                    [&](const auto& input) { return input && plan_->metrics[*input].left_out; });
    metric.left_out = !named_[i] && (!has_room || lacks_input);
    if (!metric.left_out || !metric.shown) return;
    metric.shown = false;
    if (count_++ == 0) first_ = metric.name;
  }

  void say() {
    if (count_ == 0) return;
    const std::string others =
        count_ > 1 ? " and " + std::to_string(count_ - 1) + " more are" : " is";
    plan_->notes.push_back("metric '" + first_ + "'" + others +
                           " left out: " + std::to_string(grouping_->names.size()) +
                           " groups of so many metrics are more than files of this size may ask "
                           "for; --metrics names those that are wanted");
  }

  MetricPlan* plan_;
  const Grouping* grouping_;
  std::size_t sides_;
  Allowance room_;
  std::vector<bool> named_;
  std::size_t count_ = 0;  // of metrics left out that would have been shown; and the first of them
  std::string first_;
};

}  // namespace

void leave_out_costly(MetricPlan& plan, const Grouping& grouping, const Spec& spec,
                      std::span<const Condition> of_groups,
                      std::span<const Snapshot* const> sides) {
  std::set<std::string_view> names(spec.metrics.begin(), spec.metrics.end());
  for (const SortKey& key : spec.sort) names.insert(key.metric);
  add_named(names, of_groups);
  add_named(names, spec.fail_on);
  MetricChoice choice(plan, grouping, sides);
  choice.name(names);
  choice.choose();
}

}  // namespace ctprof
