// Tests the differences of functions between sides with several runs, by the self weight of each
// function in each group that has it.
//
// All functions of all groups form one family, independent of the metric of their stacks. A
// function whose weight is less than a thousandth of the metric's total, over the runs of both
// sides, is excluded. A run whose group lacks the function counts as zero. Functions that occur in
// too few runs to become significant are excluded (statistics/eligible_rows.hpp).
//
// On request, the tested values are shares: the self weight divided by that of all functions of the
// group in the run. A service that gets less CPU time runs each function less, but a function that
// became more expensive has a larger share. The excluded functions are then those with less than a
// thousandth of their group. A run without samples of the group is a gap.
//
// See also: evidence/evidence.hpp tests a family, stack_section.hpp selects the functions to show.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/compare/evidence/evidence.hpp"
#include "core/compare/figures/allowance.hpp"
#include "core/compare/figures/stack_figures.hpp"
#include "core/compare/report/order.hpp"
#include "core/statistics/family.hpp"

namespace ctprof {

// A row of the family of functions, with the tested values: the function's self weight in each run,
// the baseline's first; NaN for gaps.
struct TestedFunction {
  RowPosition at{};
  std::uint32_t function = 0;
  double floor = 0, resolution = 0;  // in the unit of the weights, or fractions
  std::span<const double> runs{};
  std::optional<RowTestResult> test_result{};
};

class FrameEvidence {
 public:
  // Creates an object without tested functions.
  FrameEvidence() = default;
  // Tests the functions of these groups; each is a group of a metric with stacks. `designs` has one
  // entry for each side except the first. If the stacks exceed the allowance of the files, nothing
  // is tested.
  FrameEvidence(StackFigures& figures, const Rollup& rollup, std::span<const RowPosition> groups,
                std::span<const std::optional<SideDesign>> designs,
                const SignificanceThreshold& threshold, Allowance allowance, bool by_share = false);

  // Returns no value if the side is not tested or the function is not in the family.
  std::optional<RowTestResult> find_result(RowPosition group, std::uint32_t function,
                                           std::size_t side) const;
  // Visits the rows of the side's family, ordered by metric, group and function.
  void visit(std::size_t side, const std::function<void(const TestedFunction&)>& visit) const;
  bool is_tested() const { return !sides_.empty(); }

 private:
  // Metric, group and function.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  struct Side {
    std::vector<Key> rows;  // ascending
    std::vector<std::vector<double>> figures;
    std::vector<double> floors, resolutions;
    std::unique_ptr<statistics::Family> family;
  };

  Side test_functions(StackFigures& figures, const Rollup& rollup,
                      std::span<const RowPosition> groups, const SideDesign& design) const;

  SignificanceThreshold threshold_;
  bool by_share_ = false;
  std::vector<Side> sides_;
};

}  // namespace ctprof
