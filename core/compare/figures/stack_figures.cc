#include "core/compare/figures/stack_figures.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/number.hpp"

namespace ctprof {
namespace {

double middle(std::vector<double> values, std::size_t runs) {
  std::vector<ctprof_number> numbers;
  for (const double value : values) numbers.push_back(number_of(value));
  numbers.resize(runs, number_of(0.0));
  return as_double(median(std::move(numbers)));
}

// Merges the lists of several runs, which are ascending by `key`. `join` combines the items with
// equal keys into one.
template <class Item, class Key, class Join>
std::vector<Item> joined(const std::vector<std::vector<Item>>& runs, Key key, Join join) {
  std::vector<Item> all, made;
  for (const auto& run : runs) all.insert(all.end(), run.begin(), run.end());
  std::ranges::stable_sort(all, {}, key);
  for (auto first = all.begin(); first != all.end();) {
    const auto last = std::find_if(first, all.end(), [&](const Item& item) {
      return std::invoke(key, item) != std::invoke(key, *first);
    });
    made.push_back(join(std::span<const Item>(first, last)));
    first = last;
  }
  return made;
}

template <class Item>
double middle_of(std::span<const Item> items, double Item::*figure, std::size_t runs) {
  std::vector<double> values;
  for (const Item& item : items) values.push_back(item.*figure);
  return middle(std::move(values), runs);
}

}  // namespace

StackFigures::StackFigures(const StackBook& book)
    : book_(&book),
      outermost_(book.outermost()),
      at_stack_(book.size()),
      self_(book.size()),
      is_met_(book.size()),
      place_(book.functions().size()) {}

void StackFigures::meet(std::uint32_t stack) {
  for (; stack != StackBook::kEmpty && !is_met_[stack]; stack = book_->caller(stack)) {
    is_met_[stack] = true;
    met_.push_back(stack);
  }
}

void StackFigures::take(std::uint32_t function, double self, double total) {
  if (place_[function] == 0) {
    found_.push_back({function, 0, 0});
    place_[function] = static_cast<std::uint32_t>(found_.size());
  }
  found_[place_[function] - 1].self += self;
  found_[place_[function] - 1].total += total;
}

// Callers have smaller numbers. Processing stacks in descending order completes each total before
// it is added to the caller.
std::vector<FunctionWeight> StackFigures::of_run(const RunStacks& run) {
  for (const ctprof_stack& each : run.stacks) {
    const auto stack = static_cast<std::uint32_t>(each.stack);
    meet(stack);
    self_[stack] = static_cast<double>(each.weight) * run.scale;
  }
  std::ranges::sort(met_, std::ranges::greater{});
  for (const std::uint32_t stack : met_) {
    const double self = std::exchange(self_[stack], 0);
    const double all = std::exchange(at_stack_[stack], 0) + self;
    if (book_->caller(stack) != StackBook::kEmpty) at_stack_[book_->caller(stack)] += all;
    take(book_->function(stack), self, outermost_[stack] ? all : 0);
    is_met_[stack] = false;
  }
  self_[StackBook::kEmpty] = 0;
  met_.clear();
  for (const FunctionWeight& one : found_) place_[one.function] = 0;
  std::ranges::sort(found_, {}, &FunctionWeight::function);
  return std::exchange(found_, {});
}

std::size_t StackFigures::steps(const RunStacks& run) const {
  std::size_t steps = 0;
  for (const ctprof_stack& each : run.stacks)
    steps += 1 + book_->depth(static_cast<std::uint32_t>(each.stack));
  return steps;
}

SideStacks StackFigures::of(const Rollup& rollup, CellAt at) {
  std::vector<std::vector<FunctionWeight>> functions;
  std::vector<std::vector<SideStacks::Weight>> stacks;
  for (const RunStacks& run : rollup.stacks(at)) {
    functions.push_back(of_run(run));
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
      joined(functions, &FunctionWeight::function,
             [&](std::span<const FunctionWeight> of_runs) {
               return FunctionWeight{of_runs.front().function,
                                     middle_of(of_runs, &FunctionWeight::self, runs),
                                     middle_of(of_runs, &FunctionWeight::total, runs)};
             }),
      joined(stacks, &SideStacks::Weight::stack, [&](std::span<const SideStacks::Weight> of_runs) {
        return SideStacks::Weight{of_runs.front().stack,
                                  middle_of(of_runs, &SideStacks::Weight::weight, runs)};
      })};
}

}  // namespace ctprof
