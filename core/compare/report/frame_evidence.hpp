// How sure the differences of functions are, between sides of several runs: of what each weighs by
// itself, in each group that has it.
//
// All functions of all groups are one family, whatever metric their stacks are of; what one has
// below a thousandth of the metric's total, over the runs of both sides together, is not in it. A
// run whose group lacks the function has zero of it. Functions that too few runs have to be
// significant are left out (statistics/eligible.hpp).
//
// Not here: how a family is judged (evidence/evidence.hpp), which functions are told
// (stack_section.hpp).

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

// A row of the family of functions, and what it is judged by: the function's own weight in each
// run, the baseline's first; NaN for gaps.
struct JudgedFunction {
  RowAt at{};
  std::uint32_t function = 0;
  double floor = 0, resolution = 0;  // in the figures' unit
  std::span<const double> runs{};
  std::optional<Proof> proof{};
};

class FrameEvidence {
 public:
  // Knows nothing.
  FrameEvidence() = default;
  // Judges the functions of these groups, each a group of a metric with stacks, by as many designs
  // as there are sides but the first. Where the files have more stacks than they may ask for,
  // nothing is judged.
  FrameEvidence(StackFigures& figures, const Rollup& rollup, std::span<const RowAt> groups,
                std::span<const std::optional<SideDesign>> designs, const Bar& bar,
                Allowance allowance);

  // None where the side is not judged, or the function is not in the family.
  std::optional<Proof> of(RowAt group, std::uint32_t function, std::size_t side) const;
  // Visits the rows of the side's family, in the order of metrics, groups and functions.
  void visit(std::size_t side, const std::function<void(const JudgedFunction&)>& visit) const;
  bool judges() const { return !sides_.empty(); }

 private:
  // A metric, a group, a function.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  struct Side {
    std::vector<Key> rows;  // ascending
    std::vector<std::vector<double>> figures;
    std::vector<double> floors, resolutions;
    std::unique_ptr<statistics::Family> family;
  };

  Side judge(StackFigures& figures, const Rollup& rollup, std::span<const RowAt> groups,
             const SideDesign& design) const;

  Bar bar_;
  std::vector<Side> sides_;
};

}  // namespace ctprof
