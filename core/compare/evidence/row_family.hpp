// Selects the rows of a family that are tested, and computes the significance of their differences.
// The values can come from the runs of a report or from the hosts of an index.
//
// A row is tested by the logarithms of its values, with the floor added to each. The selection does
// not depend on which side a run belongs to. The family contains rows whose values, over both sides
// together, are above their floor (FamilyCriterion), and that have values in enough runs for a
// small p (statistics/eligible.hpp). A row that cannot become significant does not admit its group.
// Only metrics without negative values are tested.
//
// See also: core/statistics for permutations, evidence.hpp for the values of a report's runs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/compare/asked/spec.hpp"
#include "core/statistics/family.hpp"

namespace ctprof {

// The test result for the difference between the first side and another in one row. Shifts are
// fractions of the baseline including the floor: 0.2 means 20 % more.
struct Proof {
  double shift = 0;
  double low = 0, high = 0;  // the interval of this row only; infinite if unbounded
  double p = 1;              // adjusted for the family
  // p <= alpha, and the whole interval is beyond --min-shift. The interval is that of
  // remove_floor(), or low and high if `baseline_mean` is zero.
  bool proven = false;
  double p_alone = 1;  // p without the adjustment for the family
  // The values of the baseline and the candidate: exp(mean(log(value + floor))) minus the floor, a
  // geometric mean over the runs of a side. In the unit of the metric.
  double before = 0, after = 0, floor = 0;

  // Returns whether the row would be significant without the minimum shift.
  bool is_below_least_shift(const Bar& bar) const { return p <= bar.alpha && !proven; }
};

// Returns the same result with shift, low and high as fractions of `baseline_mean` without the
// floor, so that shift * baseline_mean is the difference between both values; NaN if it is zero.
Proof without_floor(const Proof& proof);

// Returns the result for one row of a family of logarithms, to whose values `floor` was added.
// Returns no value if a side has no value.
std::optional<Proof> proof_of(const statistics::Family& family, std::size_t row, double floor,
                              const Bar& bar);
// Returns the results of all rows, which is faster than row by row. REQUIRES: `floors` has one
// entry for each row.
std::vector<std::optional<Proof>> proofs_of(const statistics::Family& family,
                                            std::span<const double> floors, const Bar& bar);

// The condition under which a row joins the family.
enum class JoinsBy : std::uint8_t {
  Mean,   // the mean of its values is at least the floor
  Range,  // a gauge: its group is in the family, or its values vary by at least the floor
  Group,  // its group is in the family because of another row
};

// The values of one row in the runs of both sides, the baseline's first; NaN for gaps.
struct RowFigures {
  std::uint32_t group = 0, metric = 0;
  JoinsBy entry = JoinsBy::Mean;
  // In the unit of the values. 0: a thousandth of the sum over all rows of the metric (means over
  // the runs), or a hundredth of the largest row if the metric is not additive.
  double floor = 0;
  bool adds_up = false;
  // The smallest possible difference between two values, in their unit.
  double resolution = 0;
  std::vector<double> runs;
};

// Returns whether all values of the row are finite and non-negative, so that it can be in a family.
bool can_be_judged(const RowFigures& row);

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
  std::optional<Proof> proof(std::size_t row, const Bar& bar) const {
    return proof_of(family_, row, floors_[row], bar);
  }
  std::vector<std::optional<Proof>> proofs(const Bar& bar) const {
    return proofs_of(family_, floors_, bar);
  }

 private:
  struct Judged;
  explicit RowFamily(Judged judged, const statistics::Design& design);
  static Judged judged(std::vector<RowFigures> rows, const statistics::Design& design,
                       double alpha);

  std::vector<Row> rows_;
  std::vector<double> floors_;
  statistics::Family family_;
};

}  // namespace ctprof
