// Evidence: the significance of the difference between two sides with several runs, for each row of
// a family.
//
// The values of a row are those of its runs; counters are rates where the report shows rates. The
// test compares their logarithms after adding the floor to each (row_family.hpp). So a shift is a
// factor, zero is a valid value, and changes far below the floor have little effect.
//
// For sums, a group that a run lacks counts as zero if the run measured the metric. Any other gap
// remains a missing value.
//
// With more than two sides, each side is compared separately with the first.
//
// See also: row_family.hpp applies the floors and the arithmetic, report/families.hpp selects the
// metrics of a family.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/compare/evidence/designs.hpp"
#include "core/compare/evidence/row_family.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/request/spec.hpp"
#include "core/statistics/family.hpp"

namespace ctprof {

// A metric whose rows are tested.
struct TestedMetric {
  std::uint32_t metric = 0;  // index in the plan
  // In the unit of the values, per second for rates. 0: a share of the sum over all groups.
  double floor = 0;
  FamilyCriterion entry = FamilyCriterion::Mean;
};

class Evidence {
 public:
  // Tests the rows of `groups`. REQUIRES: the rollup and the plan outlive this object; `designs`
  // has one entry for each side except the first.
  Evidence(const Rollup& rollup, const MetricPlan& plan, std::span<const std::uint32_t> groups,
           std::span<const TestedMetric> metrics,
           std::span<const std::optional<SideDesign>> designs,
           const SignificanceThreshold& threshold);

  // Returns no value if the side is not tested or the row is not in the family.
  std::optional<RowTestResult> find_result(std::uint32_t group, std::size_t metric,
                                           std::size_t side) const;
  // The rows of the side's family in ascending order, each a group and a metric.
  using Row = RowFamily::Row;
  std::span<const Row> rows(std::size_t side) const {
    return sides_[side - 1] ? sides_[side - 1]->rows() : std::span<const Row>();
  }
  // Returns the test results of all these rows.
  std::vector<std::optional<RowTestResult>> results(std::size_t side) const;
  // Returns whether a row of any side is significant.
  bool has_significant_row() const;
  // Returns the number of rows of the side that would be significant without --min-shift.
  std::size_t count_below_min_shift(std::size_t side) const;
  // Returns the values of a row of the family, by its index in rows(). REQUIRES: the side is
  // tested.
  RowFigures figures(std::size_t row, std::size_t side) const;
  // Returns the family of the side; null if the side is not tested.
  const statistics::Family* family(std::size_t side) const {
    return sides_[side - 1] ? &sides_[side - 1]->family() : nullptr;
  }

 private:
  std::optional<RowTestResult> result_if_p_small(std::size_t row, std::size_t side) const;
  RowFigures row_figures(std::uint32_t group, std::uint32_t metric, const SideDesign& design) const;
  std::vector<RowFigures> make_rows(std::span<const std::uint32_t> groups,
                                    const TestedMetric& metric, const SideDesign& design) const;

  const Rollup* rollup_;
  const MetricPlan* plan_;
  std::vector<std::optional<SideDesign>> designs_;
  SignificanceThreshold threshold_;
  std::vector<std::unique_ptr<RowFamily>> sides_;
};

}  // namespace ctprof
