// What the functions of a group's stacks weigh: by themselves, and with all that they call.
//
// A stack's weight counts for its leaf itself (`self`), and once for each of its functions
// (`total`), also where one of them calls itself.
//
// Of a side of several runs each figure is the median over the runs, in which a run that lacks the
// function or stack has zero of it. Where several windows are told together, figures are per
// second.
//
// Not here: which groups and rows are told (report/stack_section.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/compare/figures/rollup.hpp"
#include "core/compare/figures/stack_book.hpp"

namespace ctprof {

struct FunctionWeight {
  std::uint32_t function = 0;
  double self = 0, total = 0;
};

// Figures of one side. Not known: the side has the group, and its stacks could not be read.
struct SideStacks {
  bool is_known = true;
  std::vector<FunctionWeight> functions;  // ascending by function
  struct Weight {
    std::uint32_t stack;
    double weight;
  };
  std::vector<Weight> stacks;  // ascending by stack
};

class StackFigures {
 public:
  // The book is complete, and outlives this.
  explicit StackFigures(const StackBook& book);

  // REQUIRES: a metric with stacks.
  SideStacks of(const Rollup& rollup, CellAt at);
  // Of one run, ascending by function.
  std::vector<FunctionWeight> of_run(const RunStacks& run);
  // What either takes of a run, at most: a step for each function of each stack.
  std::size_t steps(const RunStacks& run) const;

 private:
  void meet(std::uint32_t stack);
  void take(std::uint32_t function, double self, double total);

  const StackBook* book_;
  std::vector<bool> outermost_;
  // All zero between two calls.
  std::vector<double> at_stack_;  // of the stack and all that were called from there
  std::vector<double> self_;
  std::vector<bool> is_met_;
  std::vector<std::uint32_t> place_;  // by function, 1 and more
  // The stacks that a set is about, and their callers.
  std::vector<std::uint32_t> met_;
  std::vector<FunctionWeight> found_;
};

}  // namespace ctprof
