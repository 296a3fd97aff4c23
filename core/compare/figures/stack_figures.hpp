// Computes the self and total weight of the functions in a group's stacks.
//
// The weight of a stack counts once for its leaf (`self`), and once for each of its functions
// (`total`), even if a function is recursive.
//
// For a side with several runs, each value is the median over the runs; a run that lacks the
// function or stack counts as zero. If several windows are combined, values are per second.
//
// See also: report/stack_section.hpp selects the groups and rows to show.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/compare/figures/common_stacks.hpp"
#include "core/compare/figures/rollup.hpp"

namespace ctprof {

struct FunctionWeight {
  std::uint32_t function = 0;
  double self = 0, total = 0;
};

// The weights of one side. Unknown: the side has the group, but its stacks could not be read.
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
  // REQUIRES: the common stacks are complete, and outlive this object.
  explicit StackFigures(const CommonStacks& common);

  // Returns the weights of one side. REQUIRES: a metric with stacks.
  SideStacks weights_of_side(const Rollup& rollup, CellPosition at);
  // Returns the weights of one run, ascending by function.
  std::vector<FunctionWeight> weights_of_run(const RunStacks& run);
  // Returns an upper bound for the work on one run: one step for each function of each stack.
  std::size_t count_steps(const RunStacks& run) const;

 private:
  void visit_with_callers(std::uint32_t stack);
  void add_weight(std::uint32_t function, double self, double total);

  const CommonStacks* common_;
  std::vector<bool> outermost_;
  // All elements are zero between two calls.
  std::vector<double> total_at_stack_;  // weight of the stack and all stacks called from it
  std::vector<double> self_;
  std::vector<bool> is_visited_;
  std::vector<std::uint32_t> index_of_;  // by function: index in weights_ plus 1
  // The stacks of the current set and their callers.
  std::vector<std::uint32_t> visited_;
  std::vector<FunctionWeight> weights_;
};

}  // namespace ctprof
