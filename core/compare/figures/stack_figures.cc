#include "core/compare/figures/stack_figures.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/number.hpp"

namespace ctprof {
namespace {

double median_over_runs(std::vector<double> values, std::size_t runs) {
  std::vector<ctprof_number> numbers;
  for (const double value : values) numbers.push_back(make_number(value));
  numbers.resize(runs, make_number(0.0));
  return as_double(median(std::move(numbers)));
}

// Merges the lists of several runs, which are ascending by `key`. `join` combines the items with
// equal keys into one.
template <class Item, class Key, class Join>
std::vector<Item> merge_by_key(const std::vector<std::vector<Item>>& runs, Key key, Join join) {
  std::vector<Item> all, merged;
  for (const auto& run : runs) all.insert(all.end(), run.begin(), run.end());
  std::ranges::stable_sort(all, {}, key);
  for (auto first = all.begin(); first != all.end();) {
    const auto last = std::find_if(first, all.end(), [&](const Item& item) {
      return std::invoke(key, item) != std::invoke(key, *first);
    });
    merged.push_back(join(std::span<const Item>(first, last)));
    first = last;
  }
  return merged;
}

template <class Item>
double median_of_member(std::span<const Item> items, double Item::*figure, std::size_t runs) {
  std::vector<double> values;
  for (const Item& item : items) values.push_back(item.*figure);
  return median_over_runs(std::move(values), runs);
}

}  // namespace

StackFigures::StackFigures(const CommonStacks& common)
    : common_(&common),
      outermost_(common.find_outermost()),
      total_at_stack_(common.size()),
      self_(common.size()),
      is_visited_(common.size()),
      index_of_(common.functions().size()) {}

void StackFigures::visit_with_callers(std::uint32_t stack) {
  for (; stack != CommonStacks::kEmptyStack && !is_visited_[stack];
       stack = common_->caller(stack)) {
    is_visited_[stack] = true;
    visited_.push_back(stack);
  }
}

void StackFigures::add_weight(std::uint32_t function, double self, double total) {
  if (index_of_[function] == 0) {
    weights_.push_back({function, 0, 0});
    index_of_[function] = static_cast<std::uint32_t>(weights_.size());
  }
  weights_[index_of_[function] - 1].self += self;
  weights_[index_of_[function] - 1].total += total;
}

// Callers have smaller numbers. Processing stacks in descending order completes each total before
// it is added to the caller.
std::vector<FunctionWeight> StackFigures::weights_of_run(const RunStacks& run) {
  for (const ctprof_stack& each : run.stacks) {
    const auto stack = static_cast<std::uint32_t>(each.stack);
    visit_with_callers(stack);
    self_[stack] = static_cast<double>(each.weight) * run.scale;
  }
  std::ranges::sort(visited_, std::ranges::greater{});
  for (const std::uint32_t stack : visited_) {
    const double self = std::exchange(self_[stack], 0);
    const double all = std::exchange(total_at_stack_[stack], 0) + self;
    if (common_->caller(stack) != CommonStacks::kEmptyStack)
      total_at_stack_[common_->caller(stack)] += all;
    add_weight(common_->function(stack), self, outermost_[stack] ? all : 0);
    is_visited_[stack] = false;
  }
  self_[CommonStacks::kEmptyStack] = 0;
  visited_.clear();
  for (const FunctionWeight& one : weights_) index_of_[one.function] = 0;
  std::ranges::sort(weights_, {}, &FunctionWeight::function);
  return std::exchange(weights_, {});
}

std::size_t StackFigures::count_steps(const RunStacks& run) const {
  std::size_t steps = 0;
  for (const ctprof_stack& each : run.stacks)
    steps += 1 + common_->depth(static_cast<std::uint32_t>(each.stack));
  return steps;
}

SideStacks StackFigures::weights_of_side(const Rollup& rollup, CellPosition at) {
  std::vector<std::vector<FunctionWeight>> functions;
  std::vector<std::vector<SideStacks::Weight>> stacks;
  for (const RunStacks& run : rollup.stacks(at)) {
    functions.push_back(weights_of_run(run));
    auto& weights = stacks.emplace_back();
    for (const ctprof_stack& each : run.stacks)
      weights.push_back(
          {static_cast<std::uint32_t>(each.stack), static_cast<double>(each.weight) * run.scale});
  }
  const std::size_t runs = functions.size();
  if (runs == 0) return {rollup.coverage(at).rows == 0, {}, {}};
  if (runs == 1) return {true, std::move(functions.front()), std::move(stacks.front())};
  return {
      true,
      merge_by_key(functions, &FunctionWeight::function,
                   [&](std::span<const FunctionWeight> of_runs) {
                     return FunctionWeight{of_runs.front().function,
                                           median_of_member(of_runs, &FunctionWeight::self, runs),
                                           median_of_member(of_runs, &FunctionWeight::total, runs)};
                   }),
      merge_by_key(
          stacks, &SideStacks::Weight::stack, [&](std::span<const SideStacks::Weight> of_runs) {
            return SideStacks::Weight{of_runs.front().stack,
                                      median_of_member(of_runs, &SideStacks::Weight::weight, runs)};
          })};
}

}  // namespace ctprof
