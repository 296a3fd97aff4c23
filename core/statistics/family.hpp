// A family: rows of figures of two sides that are judged together, so that among many rows chance
// alone rarely makes one look like a find.
//
// A row's figure is the difference of the two sides' means (of pairs, the mean of their
// differences). Its statistic is that difference over its error, the error pooled over both sides
// and padded by the error that the resolution of its own figures causes: counts are whole numbers,
// clocks have ticks. So a row of small counts that are equal by chance does not exceed all others.
// The pad is the same for every labelling, and no other row changes it.
//
// p is adjusted for the family: under how many labellings the largest statistic of all rows is at
// least the row's own. It holds for all rows together: if the sides do not differ at all, a row
// with p <= 0.05 turns up in one family of twenty.
//
// The interval has all shifts that the row by itself does not speak against: those for which, if
// the candidate is shifted back by it, p of this row alone is above alpha. It is not adjusted.
//
// Figures are what the caller makes of them; logarithms, so that differences are factors. A gap is
// left out: with its pair, if paired.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/statistics/labellings.hpp"

namespace ctprof::statistics {

// The resolution of figures that have a finer one.
inline constexpr double kLeastResolution = 1e-4;

// Two shares that differ by less are the same: sums of the same numbers in another order.
inline constexpr double kTie = 1e-9;

// The rows, each with one figure for each run, the baseline's runs first; NaN for a gap. Of pairs,
// the first run of the baseline belongs to the first of the candidate.
struct FamilyRows {
  std::vector<double> values{};
  // Of each row, the smallest difference that two of its figures can have.
  std::vector<double> resolutions{};

  std::size_t count() const { return resolutions.size(); }
  std::span<const double> row(std::size_t at) const {
    const std::size_t runs = values.size() / count();
    return std::span(values).subspan(at * runs, runs);
  }
};

struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

class Family {
 public:
  // Judges all rows, by a few OS threads. REQUIRES: each has design.runs() figures.
  Family(const Design& design, FamilyRows rows);

  const Labellings& labellings() const { return labellings_; }
  std::size_t rows() const { return rows_.count(); }
  // The difference of the means, and its adjusted p; NaN and 1 where a side has no figure.
  double shift(std::size_t row) const { return shifts_[row]; }
  double p(std::size_t row) const { return ps_[row]; }
  // What p would be if the row were the only one of its family.
  double p_alone(std::size_t row) const { return alone_[row]; }
  // The means whose difference the shift is.
  double mean_before(std::size_t row) const { return befores_[row]; }
  double mean_after(std::size_t row) const { return befores_[row] + shifts_[row]; }
  // The row's error over all runs, as if they were of one side.
  double error(std::size_t row) const { return errors_[row]; }
  // The row's figures, and the smallest difference that two of them can have.
  std::span<const double> values(std::size_t row) const { return rows_.row(row); }
  double resolution(std::size_t row) const { return rows_.resolutions[row]; }
  // The smallest statistic that a row needs for a p of at most alpha; NaN where none would do.
  double needed_statistic(double alpha) const;
  // The smallest difference of this row that had p <= alpha, had it that error; NaN where no
  // difference would do.
  double needed(std::size_t row, double alpha) const;
  // How far apart the sides' means are at most in so large a share of labellings; NaN with gaps.
  double apart(std::size_t row, double share) const;
  // The row's interval at 1 - alpha. Unbounded where the runs are too few for it.
  Interval interval(std::size_t row, double alpha) const;
  // Those of all rows, by a few OS threads: labellings that rows share are made and walked once.
  std::vector<Interval> intervals(double alpha) const;

 private:
  std::vector<Interval> intervals(std::span<const std::size_t> rows, double alpha) const;

  Labellings labellings_;
  FamilyRows rows_;
  std::vector<double> shifts_, befores_, ps_, alone_;
  std::vector<double> errors_;  // of all runs
  std::vector<double> pads_;
  std::vector<double> largest_;  // by labelling, ascending
};

}  // namespace ctprof::statistics
