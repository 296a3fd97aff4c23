// The section of functions and stacks of groups, for each metric that has stacks.
//
// The groups of a metric are those of the first screen, or all groups if the screen has none. With
// one side, groups are ordered by weight, and functions by self weight, then by total. With several
// sides, functions are ordered by the change of their self weight, then of their total, and groups
// by the largest change of a function's self weight. If sides with several runs are tested
// (frame_evidence.hpp), functions with a significant change come first. Under
// StackTesting::by_share, shares of the group's weight replace the weights of functions. Ties are
// ordered by name. Omitted are rows whose weight (the median over runs) is zero on all sides, and
// metrics without a value on a side.
//
// Each group is computed only when it is shown, because a host can have many groups with 100,000
// stacks.
//
// See also: figures/stack_figures.hpp computes weights, render/ formats text and JSON.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/compare/figures/allowance.hpp"
#include "core/compare/figures/common_stacks.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/figures/stack_figures.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/compare/report/frame_evidence.hpp"
#include "core/compare/report/merged_waits.hpp"
#include "core/compare/report/order.hpp"
#include "core/compare/report/screen.hpp"

namespace ctprof {

struct FunctionRow {
  std::uint32_t function = 0;
  std::vector<FunctionWeight> sides;
  // Tests whether the self weight of each other side differs from the first side; no value if it
  // was not tested.
  std::vector<std::optional<RowTestResult>> test_results{};

  bool is_significant() const {
    return std::ranges::any_of(test_results, [](const auto& test_result) {
      return test_result && test_result->is_significant;
    });
  }
};

// Returns the self or total weight of the function, by side.
std::vector<double> figures(const FunctionRow& row, double FunctionWeight::*figure);

// Returns the same as shares of the weights of the group (StackGroup::weights); NaN if unknown.
std::vector<double> shares(const FunctionRow& row, double FunctionWeight::*figure,
                           std::span<const double> weights);

struct StackRow {
  std::uint32_t stack = 0;
  std::vector<double> sides;  // weights
};

// The stacks of one group in one metric.
struct StackGroup {
  RowPosition at{};
  std::vector<double> weights;  // by side, over all stacks of the group
  std::vector<FunctionRow> functions;
  std::vector<StackRow> stacks;
  // All stacks of a metric of waits, if StackLimits::folds_waits.
  std::vector<MergedWait> waits{};
  std::size_t functions_over_limit = 0, stacks_over_limit = 0;  // beyond the limit
};

// Converts a weight to a number: an integer if the weight is a whole number.
ctprof_number as_number(double weight);

// Returns the largest change from the first side on any side; with one side the value. 0 if unknown
// (NaN).
double largest_change(std::span<const double> sides);

// The maximum number of groups of a metric, and of functions and stacks of a group (0: all); the
// allowance of the files; and whether waits are folded.
struct StackLimits {
  std::size_t limit = 0;
  Allowance allowance;
  bool folds_waits = true;
};

// The parameters of tests on functions; without designs nothing is tested.
struct StackTesting {
  std::span<const std::optional<SideDesign>> designs{};
  SignificanceThreshold threshold{};
  bool by_share = false;  // of the group, as in frame_evidence.hpp; also the order of functions
};

// By side, then by group.
using SignsOfSides = std::span<const std::vector<GroupSigns>>;

class StackSection {
 public:
  // `groups`: the groups that may be shown, in any order. REQUIRES: all arguments except `limits`
  // outlive this object.
  StackSection(const CommonStacks& common, const MetricPlan& plan, const Grouping& grouping,
               const Rollup& rollup, std::span<const std::uint32_t> groups, StackLimits limits,
               StackTesting testing = {}, SignsOfSides signs = {});

  const CommonStacks& common_stacks() const { return *common_; }
  // Returns the groups in output order, limited for each metric.
  std::span<const RowPosition> groups() const { return groups_; }
  // Returns the number of groups beyond the limit, and of groups whose stacks exceed the allowance,
  // over all metrics.
  std::size_t groups_over_limit() const { return groups_over_limit_; }
  std::size_t groups_over_allowance() const { return groups_over_allowance_; }
  // Returns the metrics that are omitted because a side has no value of them.
  std::span<const std::uint32_t> one_sided_metrics() const { return one_sided_; }
  StackGroup make_group(RowPosition at);
  // Returns whether functions are tested and ordered by their share of the group.
  bool is_by_share() const { return testing_.by_share; }
  // Returns whether changes of functions are tested.
  bool is_tested() { return evidence().is_tested(); }
  // Returns the tests of the changes of functions.
  const FrameEvidence& evidence();

 private:
  struct RankedGroup {
    RowPosition at;
    double rank = 0;
  };

  void add_metric(std::uint32_t metric, std::span<const std::uint32_t> groups);
  bool is_on_all_sides(const Grouping& grouping, std::uint32_t metric) const;
  bool spend_allowance_for(RowPosition at);
  double rank(RowPosition at);
  std::vector<FunctionRow> functions_of(std::span<const SideStacks> sides) const;
  std::vector<StackRow> stacks_of(std::span<const SideStacks> sides) const;
  std::vector<MergedWait> find_waits(RowPosition at, std::span<const StackRow> stacks) const;
  std::vector<LongWait> find_long_waits(RowPosition at, std::size_t side) const;
  std::vector<SideStacks> sides_of(RowPosition at);

  const CommonStacks* common_;
  const MetricPlan* plan_;
  const Rollup* rollup_;
  StackLimits limits_;
  StackFigures figures_;
  StackTesting testing_;
  SignsOfSides signs_;
  Allowance testing_allowance_;
  std::optional<FrameEvidence> evidence_;  // computed on first use
  std::vector<RowPosition> groups_, tested_groups_;
  std::size_t groups_over_limit_ = 0, groups_over_allowance_ = 0;
  std::vector<std::uint32_t> one_sided_;
};

// Null if no shown metric has stacks. Adds notes on omitted stacks to the plan.
std::unique_ptr<StackSection> make_stack_section(const CommonStacks& common, MetricPlan& plan,
                                                 const Grouping& grouping, const Rollup& rollup,
                                                 const std::optional<Screen>& screen,
                                                 StackLimits limits, StackTesting testing = {},
                                                 SignsOfSides signs = {});

}  // namespace ctprof
