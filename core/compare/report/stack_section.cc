#include "core/compare/report/stack_section.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/number.hpp"
#include "core/base/text.hpp"

namespace ctprof {
namespace {

double largest_magnitude(const FunctionRow& row, double FunctionWeight::*figure) {
  return std::abs(ctprof::largest_change(figures(row, figure)));
}

bool is_listed_metric(const PlannedMetric& metric) {
  return metric.has_listable_stacks() && metric.is_shown && !metric.is_omitted;
}

bool is_of_waits(const PlannedMetric& metric) {
  return metric.role == "waiting-stacks" && metric.has_stacks;
}

// Keeps the first `limit` rows (0: all), and returns the number of removed rows.
template <class Rows>
std::size_t truncate_rows(Rows& rows, std::size_t limit) {
  if (limit == 0 || rows.size() <= limit) return 0;
  const std::size_t removed_rows = rows.size() - limit;
  rows.resize(limit);
  return removed_rows;
}

// Joins the items of several sides, each ascending by `key`, into one row for each key.
template <class Row, class Item, class Key, class AddItem>
std::vector<Row> join_sides(std::span<const SideStacks> sides, std::vector<Item> SideStacks::*items,
                            Key key, AddItem add_item) {
  std::vector<std::pair<std::uint32_t, std::pair<std::size_t, const Item*>>> all;
  for (std::size_t side = 0; side < sides.size(); ++side)
    for (const Item& item : sides[side].*items) all.push_back({item.*key, {side, &item}});
  std::ranges::sort(all);
  std::vector<Row> rows;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const auto& [number, item] = all[at];
    if (at == 0 || all[at - 1].first != number) {
      rows.emplace_back();
      rows.back().sides.resize(sides.size());
    }
    add_item(rows.back(), item.first, *item.second);
  }
  return rows;
}

}  // namespace

std::vector<double> figures(const FunctionRow& row, double FunctionWeight::*figure) {
  std::vector<double> sides;
  for (const FunctionWeight& side : row.sides) sides.push_back(side.*figure);
  return sides;
}

std::vector<double> shares(const FunctionRow& row, double FunctionWeight::*figure,
                           std::span<const double> weights) {
  std::vector<double> sides = figures(row, figure);
  for (std::size_t side = 0; side < sides.size(); ++side)
    sides[side] = weights[side] > 0 ? sides[side] / weights[side] : kNaN;
  return sides;
}

ctprof_number as_number(double weight) {
  constexpr double kExact = 0x1p53;  // doubles represent all integers up to this
  const bool is_whole = weight >= 0 && weight <= kExact && weight == std::trunc(weight);
  return is_whole ? make_number(static_cast<std::uint64_t>(weight)) : make_number(weight);
}

double largest_change(std::span<const double> sides) {
  double largest = sides.size() == 1 && sides[0] > 0 ? sides[0] : 0;
  for (const double side : sides.subspan(1))
    if (const double change = side - sides[0]; std::abs(change) > std::abs(largest))
      largest = change;
  return largest;
}

StackSection::StackSection(const CommonStacks& common, const MetricPlan& plan,
                           const Grouping& grouping, const Rollup& rollup,
                           std::span<const std::uint32_t> groups, StackLimits limits,
                           StackTesting testing, SignsOfSides signs)
    : common_(&common),
      plan_(&plan),
      rollup_(&rollup),
      limits_(limits),
      figures_(common),
      testing_(testing),
      signs_(signs),
      testing_allowance_(limits.allowance) {
  constexpr std::uint32_t kHost[] = {0};
  for (std::uint32_t metric = 0; metric < plan.metrics.size(); ++metric) {
    if (!is_listed_metric(plan.metrics[metric])) continue;
    if (!is_on_all_sides(grouping, metric)) {
      one_sided_.push_back(metric);
      continue;
    }
    add_metric(metric, plan.metrics[metric].entity == Entity::Host ? kHost : groups);
    const std::size_t all = grouping.count(plan.metrics[metric].entity);
    for (std::uint32_t group = 0; group < all; ++group) tested_groups_.push_back({group, metric});
  }
}

bool StackSection::is_on_all_sides(const Grouping& grouping, std::uint32_t metric) const {
  const auto groups = static_cast<std::uint32_t>(grouping.count(plan_->metrics[metric].entity));
  for (std::size_t side = 0; side < rollup_->sides(); ++side) {
    std::uint32_t group = 0;
    while (group < groups && !rollup_->read({side, group, metric}).has_value()) ++group;
    if (group == groups) return false;
  }
  return true;
}

void StackSection::add_metric(std::uint32_t metric, std::span<const std::uint32_t> groups) {
  std::vector<RankedGroup> ranked;
  for (const std::uint32_t group : groups) {
    const RowPosition at{group, metric};
    double weight = 0;
    for (std::size_t side = 0; side < rollup_->sides(); ++side)
      if (const double side_weight = as_double(rollup_->read({side, group, metric}).number);
          side_weight > weight)
        weight = side_weight;
    if (weight > 0) ranked.push_back({at, weight});
  }
  const auto has_larger_weight = [](const RankedGroup& a, const RankedGroup& b) {
    return std::pair(-a.rank, a.at.group) < std::pair(-b.rank, b.at.group);
  };
  std::ranges::sort(ranked, has_larger_weight);
  groups_over_allowance_ +=
      std::erase_if(ranked, [&](const RankedGroup& one) { return !spend_allowance_for(one.at); });
  if (rollup_->sides() > 1) {
    for (RankedGroup& one : ranked) one.rank = rank(one.at);
    std::ranges::sort(ranked, has_larger_weight);
  }
  groups_over_limit_ += truncate_rows(ranked, limits_.limit);
  for (const RankedGroup& one : ranked) groups_.push_back(one.at);
}

// Spends the work to compute the weights of functions: one step for each function of each stack.
// Returns false if it exceeds the allowance.
bool StackSection::spend_allowance_for(RowPosition at) {
  bool is_within_allowance = true;
  for (std::size_t side = 0; side < rollup_->sides(); ++side)
    for (const RunStacks& run : rollup_->stacks({side, at.group, at.metric}))
      is_within_allowance =
          limits_.allowance.spend(figures_.count_steps(run)) && is_within_allowance;
  return is_within_allowance;
}

// Returns the largest change of a function's self weight.
double StackSection::rank(RowPosition at) {
  double largest = 0;
  for (const FunctionRow& row : functions_of(sides_of(at)))
    largest = std::max(largest, largest_magnitude(row, &FunctionWeight::self));
  return largest;
}

std::vector<SideStacks> StackSection::sides_of(RowPosition at) {
  std::vector<SideStacks> sides;
  for (std::size_t side = 0; side < rollup_->sides(); ++side)
    sides.push_back(figures_.weights_of_side(*rollup_, {side, at.group, at.metric}));
  return sides;
}

std::vector<FunctionRow> StackSection::functions_of(std::span<const SideStacks> sides) const {
  auto rows =
      join_sides<FunctionRow>(sides, &SideStacks::functions, &FunctionWeight::function,
                              [](FunctionRow& row, std::size_t side, const FunctionWeight& weight) {
                                row.function = weight.function;
                                row.sides[side] = weight;
                              });
  std::erase_if(rows, [](const FunctionRow& row) {
    return std::ranges::all_of(row.sides,
                               [](const FunctionWeight& side) { return side.total == 0; });
  });
  for (FunctionRow& row : rows)
    for (std::size_t side = 0; side < sides.size(); ++side)
      if (!sides[side].is_known) row.sides[side] = {row.function, kNaN, kNaN};
  return rows;
}

std::vector<StackRow> StackSection::stacks_of(std::span<const SideStacks> sides) const {
  auto rows =
      join_sides<StackRow>(sides, &SideStacks::stacks, &SideStacks::Weight::stack,
                           [](StackRow& row, std::size_t side, const SideStacks::Weight& weight) {
                             row.stack = weight.stack;
                             row.sides[side] = weight.weight;
                           });
  std::erase_if(rows, [](const StackRow& row) {
    return std::ranges::all_of(row.sides, [](double side) { return side == 0; });
  });
  for (StackRow& row : rows)
    for (std::size_t side = 0; side < sides.size(); ++side)
      if (!sides[side].is_known) row.sides[side] = kNaN;
  return rows;
}

std::vector<LongWait> StackSection::find_long_waits(RowPosition at, std::size_t side) const {
  std::vector<LongWait> found;
  if (side >= signs_.size() || at.group >= signs_[side].size()) return found;
  const std::string& metric = plan_->metrics[at.metric].name;
  const auto runs = rollup_->stacks({side, at.group, at.metric});
  for (LongWait one : signs_[side][at.group].long_waits) {
    if (one.metric != metric || runs.size() != 1) continue;
    one.weight *= runs.front().scale;
    found.push_back(one);
  }
  return found;
}

std::vector<MergedWait> StackSection::find_waits(RowPosition at,
                                                 std::span<const StackRow> stacks) const {
  if (!limits_.folds_waits || !is_of_waits(plan_->metrics[at.metric])) return {};
  std::vector<std::vector<LongWait>> long_waits;
  for (std::size_t side = 0; side < rollup_->sides(); ++side)
    long_waits.push_back(find_long_waits(at, side));
  std::vector<WaitStack> all;
  for (const StackRow& row : stacks) all.push_back({row.stack, row.sides});
  return merge_waits(*common_, all, long_waits);
}

const FrameEvidence& StackSection::evidence() {
  if (!evidence_)
    evidence_.emplace(figures_, *rollup_, tested_groups_, testing_.designs, testing_.threshold,
                      testing_allowance_, testing_.by_share);
  return *evidence_;
}

StackGroup StackSection::make_group(RowPosition at) {
  const auto sides = sides_of(at);
  StackGroup group{at, {}, functions_of(sides), stacks_of(sides)};
  group.waits = find_waits(at, group.stacks);
  for (FunctionRow& row : group.functions)
    for (std::size_t side = 1; is_tested() && side < sides.size(); ++side)
      row.test_results.push_back(evidence().find_result(at, row.function, side));
  for (std::size_t side = 0; side < sides.size(); ++side)
    group.weights.push_back(as_double(rollup_->read({side, at.group, at.metric}).number));
  const auto& functions = common_->functions();
  const auto function_key = [&](const FunctionRow& row) {
    const StackFunction& function = functions[row.function];
    const auto magnitude = [&](double FunctionWeight::*figure) {
      return testing_.by_share
                 ? std::abs(ctprof::largest_change(shares(row, figure, group.weights)))
                 : largest_magnitude(row, figure);
    };
    return std::tuple(!row.is_significant(), -magnitude(&FunctionWeight::self),
                      -magnitude(&FunctionWeight::total), std::string_view(function.name),
                      std::string_view(function.module), row.function);
  };
  std::ranges::sort(group.functions, {}, function_key);
  std::ranges::sort(group.stacks, {}, [](const StackRow& row) {
    return std::pair(-std::abs(ctprof::largest_change(row.sides)), row.stack);
  });
  group.functions_over_limit = truncate_rows(group.functions, limits_.limit);
  group.stacks_over_limit = truncate_rows(group.stacks, limits_.limit);
  return group;
}

std::unique_ptr<StackSection> make_stack_section(const CommonStacks& common, MetricPlan& plan,
                                                 const Grouping& grouping, const Rollup& rollup,
                                                 const std::optional<Screen>& screen,
                                                 StackLimits limits, StackTesting testing,
                                                 SignsOfSides signs) {
  if (std::ranges::none_of(plan.metrics, is_listed_metric)) return nullptr;
  std::vector<std::uint32_t> groups;
  if (screen)
    for (const ScreenRow& row : screen->rows) groups.push_back(row.group);
  if (groups.empty()) {
    groups.resize(grouping.names.size());
    std::iota(groups.begin(), groups.end(), 0);
  }
  auto section = std::make_unique<StackSection>(common, plan, grouping, rollup, groups, limits,
                                                testing, signs);
  if (const std::size_t dropped_stacks = common.dropped_stacks())
    plan.notes.push_back(std::to_string(dropped_stacks) +
                         " stacks exceed the limit; only totals include their weights");
  if (const std::size_t out = section->groups_over_allowance())
    plan.notes.push_back("the stacks of " + format_count(out, "group") +
                         " are left out: computing them exceeds the limit for files of this size");
  for (const std::uint32_t metric : section->one_sided_metrics())
    plan.notes.push_back("the stacks of '" + plan.metrics[metric].name +
                         "' are omitted: one side has none");
  return section;
}

}  // namespace ctprof
