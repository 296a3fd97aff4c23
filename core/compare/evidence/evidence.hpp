// Evidence: how sure the difference of two sides of several runs is, for each row of a family.
//
// A row's figures are those of the runs, rates where rates are told. Its logarithms are compared,
// with the floor added to each (row_family.hpp): so a shift is a factor, nothing is no problem, and
// what happens far below the floor weighs little.
//
// A group that a run does not have counts as zero in sums that the run has of others; any other gap
// is a gap.
//
// With more than two sides each is judged against the first by itself.
//
// Not here: which rows are above their floors, and the arithmetic (row_family.hpp); which metrics a
// family has (report/families.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/compare/asked/spec.hpp"
#include "core/compare/evidence/designs.hpp"
#include "core/compare/evidence/row_family.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/statistics/family.hpp"

namespace ctprof {

// A metric whose rows are judged.
struct JudgedMetric {
  std::uint32_t metric = 0;  // in the plan
  // In the figures' unit, per second where they are. 0: a share of what all groups come to.
  double floor = 0;
  JoinsBy entry = JoinsBy::Mean;
};

class Evidence {
 public:
  // Judges the groups that are not `left_out` (by group; empty: none is). REQUIRES: the rollup
  // outlives this; as many designs as it has sides but the first.
  Evidence(const Rollup& rollup, const MetricPlan& plan, std::span<const std::uint32_t> groups,
           std::span<const JudgedMetric> metrics,
           std::span<const std::optional<SideDesign>> designs, const Bar& bar);

  // None where the side is not judged, or the row is not in the family.
  std::optional<Proof> of(std::uint32_t group, std::size_t metric, std::size_t side) const;
  // The rows of its family, ascending, each a group and a metric.
  using Row = RowFamily::Row;
  std::span<const Row> rows(std::size_t side) const {
    return sides_[side - 1] ? sides_[side - 1]->rows() : std::span<const Row>();
  }
  // All of them.
  std::vector<std::optional<Proof>> proofs(std::size_t side) const;
  // Whether a row of any side is proven.
  bool any_proven() const;
  // How many rows of the side only --min-shift keeps from being proven.
  std::size_t below_least_shift(std::size_t side) const;
  // What a row of the family is judged by, by its place in rows(). REQUIRES: the side is judged.
  RowFigures figures(std::size_t row, std::size_t side) const;
  // The family of the side; null if it is not judged.
  const statistics::Family* family(std::size_t side) const {
    return sides_[side - 1] ? &sides_[side - 1]->family() : nullptr;
  }

 private:
  std::optional<Proof> small_p(std::size_t row, std::size_t side) const;
  RowFigures figures_of(std::uint32_t group, std::uint32_t metric, const SideDesign& design) const;
  std::vector<RowFigures> rows_of(std::span<const std::uint32_t> groups, const JudgedMetric& metric,
                                  const SideDesign& design) const;

  const Rollup* rollup_;
  const MetricPlan* plan_;
  std::vector<std::optional<SideDesign>> designs_;
  Bar bar_;
  std::vector<std::unique_ptr<RowFamily>> sides_;
};

}  // namespace ctprof
