// Where the time went: the functions and stacks of groups, of each metric that has stacks.
//
// The groups of a metric are those of the first screen, or all where that has none. Of one side
// they are in the order of what they weigh, functions by their own weight, then by their total. Of
// several sides the change decides: groups by that of the function which changed most by itself,
// functions by that of their own weight, then of their total; where sides of several runs are
// judged (frame_evidence.hpp), functions whose change is proven come first. Ties go by name. What
// weighs nothing on any side (in the median of its runs) is not told, nor a metric that a side has
// no value of.
//
// Groups are counted out one by one, when they are told: a host has many, with 100,000 stacks.
//
// Not here: what functions weigh (figures/stack_figures.hpp), text and JSON (render/).

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/compare/figures/allowance.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/figures/stack_book.hpp"
#include "core/compare/figures/stack_figures.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/compare/report/folded_waits.hpp"
#include "core/compare/report/frame_evidence.hpp"
#include "core/compare/report/order.hpp"
#include "core/compare/report/screen.hpp"

namespace ctprof {

struct FunctionRow {
  std::uint32_t function = 0;
  std::vector<FunctionWeight> sides;
  // Of the difference of its own weight from the first side's, by side but the first; none where it
  // was not judged.
  std::vector<std::optional<Proof>> proofs{};

  bool is_proven() const {
    return std::ranges::any_of(proofs, [](const auto& proof) { return proof && proof->proven; });
  }
};

// One of the two figures, by side.
std::vector<double> figures(const FunctionRow& row, double FunctionWeight::*figure);

struct StackRow {
  std::uint32_t stack = 0;
  std::vector<double> sides;  // weights
};

// One group's stacks in one metric.
struct StackGroup {
  RowAt at{};
  std::vector<double> weights;  // by side, of all that the group has
  std::vector<FunctionRow> functions;
  std::vector<StackRow> stacks;
  // The stacks of a metric of waits, all of them, if StackLimits::folds_waits.
  std::vector<FoldedWait> waits{};
  std::size_t functions_cut = 0, stacks_cut = 0;  // beyond the limit
};

// A weight as a number: a whole one where it is whole.
ctprof_number as_number(double weight);

// How far a figure went, by the side that went furthest from the first; of one side the figure. 0
// where that is not known (NaN).
double went(std::span<const double> sides);

// How many groups of a metric are printed, and functions and stacks of a group (0: all), what the
// files may ask for, and whether waits are folded.
struct StackLimits {
  std::size_t limit = 0;
  Allowance allowance;
  bool folds_waits = true;
};

// By what functions are judged: nothing is, without designs.
struct StackJudging {
  std::span<const std::optional<SideDesign>> designs{};
  Bar bar{};
};

// Of each side, by group.
using SignsOfSides = std::span<const std::vector<GroupSigns>>;

class StackSection {
 public:
  // `groups`: those that may be told, in any order. All of these but the limits outlive this.
  StackSection(const StackBook& book, const MetricPlan& plan, const Grouping& grouping,
               const Rollup& rollup, std::span<const std::uint32_t> groups, StackLimits limits,
               StackJudging judging = {}, SignsOfSides signs = {});

  const StackBook& book() const { return *book_; }
  // In the order in which they are told, as many as the limit allows of each metric.
  std::span<const RowAt> groups() const { return groups_; }
  // Of all metrics together, beyond the limit; and with more stacks than their files may ask for.
  std::size_t cut() const { return cut_; }
  std::size_t left_out() const { return left_out_; }
  // Metrics that are not told because a side has no value of them.
  std::span<const std::uint32_t> one_sided() const { return one_sided_; }
  StackGroup of(RowAt at);
  // Whether changes of functions are judged.
  bool judges() { return evidence().judges(); }
  // How sure changes of functions are.
  const FrameEvidence& evidence();

 private:
  struct Ranked {
    RowAt at;
    double rank = 0;
  };

  void take_metric(std::uint32_t metric, std::span<const std::uint32_t> groups);
  bool is_on_all_sides(const Grouping& grouping, std::uint32_t metric) const;
  bool affords(RowAt at);
  double rank(RowAt at);
  std::vector<FunctionRow> functions_of(std::span<const SideStacks> sides) const;
  std::vector<StackRow> stacks_of(std::span<const SideStacks> sides) const;
  std::vector<FoldedWait> waits_of(RowAt at, std::span<const StackRow> stacks) const;
  std::vector<LongWait> long_waits_of(RowAt at, std::size_t side) const;
  std::vector<SideStacks> sides_of(RowAt at);

  const StackBook* book_;
  const MetricPlan* plan_;
  const Rollup* rollup_;
  StackLimits limits_;
  StackFigures figures_;
  StackJudging judging_;
  SignsOfSides signs_;
  Allowance judging_allowance_;
  std::optional<FrameEvidence> evidence_;  // found when it is first asked for
  std::vector<RowAt> groups_, judged_;
  std::size_t cut_ = 0, left_out_ = 0;
  std::vector<std::uint32_t> one_sided_;
};

// Null where no metric that is shown has stacks. Adds notes on what is left out to the plan.
std::unique_ptr<StackSection> make_stack_section(const StackBook& book, MetricPlan& plan,
                                                 const Grouping& grouping, const Rollup& rollup,
                                                 const std::optional<Screen>& screen,
                                                 StackLimits limits, StackJudging judging = {},
                                                 SignsOfSides signs = {});

}  // namespace ctprof
