// The rows of a family, out of figures: which of them are judged, and how sure their differences
// are. Where the figures come from is no matter: runs of a report, or hosts of an index.
//
// A row is judged by the logarithms of its figures, the floor added to each. The family is fixed
// without looking at the sides: it has the rows whose figures, of both sides together, are above
// their floor (JoinsBy), and that enough runs have for a small p (statistics/eligible.hpp). A row
// that cannot be significant does not bring its group in. Only numbers that are never below zero
// are judged.
//
// Not here: permutations (core/statistics), figures of a report's runs (evidence.hpp).

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

// What is known of a row's difference between the first side and another. Shifts are fractions of
// the baseline, floor included: 0.2 is 20 % more.
struct Proof {
  double shift = 0;
  double low = 0, high = 0;  // the interval of this row alone; infinite where it has no bound
  double p = 1;              // adjusted for the family
  // p <= alpha, and the whole interval is beyond --min-shift: that of without_floor(), or, where
  // `before` is zero, low and high.
  bool proven = false;
  double p_alone = 1;  // what p would be if this row were the only one
  // The figures that the shift leads from and to: of each side exp(mean(log(figure + floor))) minus
  // the floor, so a geometric mean of its runs. In the unit of the figures.
  double before = 0, after = 0, floor = 0;

  // Whether only the least shift keeps it from being proven.
  bool is_below_least_shift(const Bar& bar) const { return p <= bar.alpha && !proven; }
};

// The same with shift, low and high as fractions of `before` itself, so that the shift is the
// difference of both figures; NaN where that is zero.
Proof without_floor(const Proof& proof);

// Of a row of a family of logarithms of figures, to which `floor` was added; none where a side has
// no figure.
std::optional<Proof> proof_of(const statistics::Family& family, std::size_t row, double floor,
                              const Bar& bar);
// The same of all rows, which costs less than one after the other. REQUIRES: a floor for each row.
std::vector<std::optional<Proof>> proofs_of(const statistics::Family& family,
                                            std::span<const double> floors, const Bar& bar);

// What brings a row of a metric into the family, beside a group that is there at all.
enum class JoinsBy : std::uint8_t {
  Mean,   // its figures are above the floor on average
  Range,  // a level: its group is in, or it differs by the floor from run to run
  Group,  // its group is in with another row
};

// One row's figures in the runs of both sides, the baseline's first; NaN for gaps.
struct RowFigures {
  std::uint32_t group = 0, metric = 0;
  JoinsBy entry = JoinsBy::Mean;
  // In the figures' unit. 0: a thousandth of what all rows of the metric come to on average, or a
  // hundredth of the largest of them where they do not add up.
  double floor = 0;
  bool adds_up = false;
  // The smallest difference that two figures can have, in their unit.
  double resolution = 0;
  std::vector<double> runs;
};

// Whether the row may be in a family at all.
bool can_be_judged(const RowFigures& row);

class RowFamily {
 public:
  // Judges the rows that are above their floors and can be significant at `alpha`. REQUIRES: each
  // has design.runs() figures.
  RowFamily(std::vector<RowFigures> rows, const statistics::Design& design, double alpha);

  // The rows that are judged, ascending, each a group and a metric.
  using Row = std::pair<std::uint32_t, std::uint32_t>;
  std::span<const Row> rows() const { return rows_; }
  // The floor of one of them, in the unit of its figures.
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
