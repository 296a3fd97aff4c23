// Selects the rows of a family that are tested, and computes the significance of their differences.
// The values can come from the runs of a report or from the hosts of an index.
//
// A row is tested by the logarithms of its values, with the floor added to each. The selection does
// not depend on which side a run belongs to. The family contains rows whose values, over both sides
// together, are above their floor (FamilyCriterion), and that have values in enough runs for a
// small p (statistics/eligible_rows.hpp). A row that cannot become significant does not add its
// group to the family. Only metrics without negative values are tested.
//
// See also: core/statistics for permutations, evidence.hpp for the values of a report's runs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/compare/request/spec.hpp"
#include "core/statistics/family.hpp"

namespace ctprof {

// The test result for the difference between the first side and another in one row. Shifts are
// fractions of the baseline including the floor: 0.2 means 20 % more.
struct RowTestResult {
  double shift = 0;
  double low = 0, high = 0;  // the interval of this row only; infinite if unbounded
  double p = 1;              // adjusted for the family
  // p <= alpha, and the whole interval is beyond --min-shift. The interval is that of
  // remove_floor(), or low and high if `baseline_mean` is zero.
  bool is_significant = false;
  double unadjusted_p = 1;  // p without the adjustment for the family
  // The values of the baseline and the candidate: exp(mean(log(value + floor))) minus the floor, a
  // geometric mean over the runs of a side. In the unit of the metric.
  double baseline_mean = 0, candidate_mean = 0, floor = 0;

  // Returns whether the row would be significant without the minimum shift.
  bool is_below_min_shift(const SignificanceThreshold& threshold) const {
    return p <= threshold.alpha && !is_significant;
  }
};

// Returns the same result with shift, low and high as fractions of `baseline_mean` without the
// floor, so that shift * baseline_mean is the difference between both values; NaN if it is zero.
RowTestResult remove_floor(const RowTestResult& result);

// Returns the result for one row of a family of logarithms, to whose values `floor` was added.
// Returns no value if a side has no value.
std::optional<RowTestResult> test_row(const statistics::Family& family, std::size_t row,
                                      double floor, const SignificanceThreshold& threshold);
// Returns the results of all rows, which is faster than row by row. REQUIRES: `floors` has one
// entry for each row.
std::vector<std::optional<RowTestResult>> test_rows(const statistics::Family& family,
                                                    std::span<const double> floors,
                                                    const SignificanceThreshold& threshold);

// The condition under which a row joins the family.
enum class FamilyCriterion : std::uint8_t {
  Mean,   // the mean of its values is at least the floor
  Range,  // a gauge: its group is in the family, or its values vary by at least the floor
  Group,  // its group is in the family because of another row
};

// The values of one row in the runs of both sides, the baseline's first; NaN for gaps.
struct RowFigures {
  std::uint32_t group = 0, metric = 0;
  FamilyCriterion criterion = FamilyCriterion::Mean;
  // In the unit of the values. 0: a thousandth of the sum over all rows of the metric (means over
  // the runs), or a hundredth of the largest row if the metric is not additive.
  double floor = 0;
  bool is_additive = false;
  // The smallest possible difference between two values, in their unit.
  double resolution = 0;
  std::vector<double> runs;
};

// Returns whether all values of the row are finite and non-negative, so that it can be in a family.
bool can_be_tested(const RowFigures& row);

class RowFamily {
 public:
  // Tests the rows that are above their floors and can be significant at `alpha`. REQUIRES: each
  // row has design.runs() values.
  RowFamily(std::vector<RowFigures> rows, const statistics::Design& design, double alpha);

  // The tested rows in ascending order, each a group and a metric.
  using Row = std::pair<std::uint32_t, std::uint32_t>;
  std::span<const Row> rows() const { return rows_; }
  // Returns the floor of a tested row, in the unit of its values.
  double floor(std::size_t row) const { return floors_[row]; }
  const statistics::Family& family() const { return family_; }
  std::optional<RowTestResult> result(std::size_t row,
                                      const SignificanceThreshold& threshold) const {
    return test_row(family_, row, floors_[row], threshold);
  }
  std::vector<std::optional<RowTestResult>> results(const SignificanceThreshold& threshold) const {
    return test_rows(family_, floors_, threshold);
  }

 private:
  struct TestedRows;
  explicit RowFamily(TestedRows tested_rows, const statistics::Design& design);
  static TestedRows select_tested_rows(std::vector<RowFigures> rows,
                                       const statistics::Design& design, double alpha);

  std::vector<Row> rows_;
  std::vector<double> floors_;
  statistics::Family family_;
};

}  // namespace ctprof
