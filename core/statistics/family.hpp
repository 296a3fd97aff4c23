// Tests a family: rows of figures of two sides that are tested together, so that among many rows
// chance rarely makes one look significant.
//
// The difference of a row is that of the two sides' means (for pairs, the mean of their
// differences). Its statistic is the difference divided by its error. The error is pooled over both
// sides and padded by the error that the resolution of the row's figures causes: counts are whole
// numbers, clocks have ticks. So a row of small counts that are equal by chance does not exceed all
// others. The pad is the same for every labelling, and no other row changes it.
//
// p is adjusted for the family: it is the share of labellings under which the largest statistic of
// all rows is at least the row's own. It is valid for all rows together: if the sides do not differ
// at all, one family of twenty has a row with p <= 0.05.
//
// The interval contains all shifts that the test of the single row does not reject: if the
// candidate is shifted back by such a shift, the unadjusted p of the row is above alpha. It is not
// adjusted.
//
// The caller chooses the figures; with logarithms, differences are factors. A gap is omitted, with
// its pair if paired.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/statistics/interval.hpp"
#include "core/statistics/labellings.hpp"

namespace ctprof::statistics {

// Lower bound of the resolution; figures with a finer one use this value.
inline constexpr double kMinResolution = 1e-4;

// Two shares with a smaller difference are equal: sums of the same numbers in another order.
inline constexpr double kTieTolerance = 1e-9;

// The rows, each with one figure per run, those of the baseline first; NaN is a gap. For pairs, run
// n of the baseline belongs to run n of the candidate.
struct FamilyRows {
  std::vector<double> values{};
  // By row: the smallest difference that two of its figures can have.
  std::vector<double> resolutions{};

  std::size_t count() const { return resolutions.size(); }
  std::span<const double> row(std::size_t at) const {
    const std::size_t runs = values.size() / count();
    return std::span(values).subspan(at * runs, runs);
  }
};

class Family {
 public:
  // Tests all rows with a few OS threads. REQUIRES: each row has design.runs() figures.
  Family(const Design& design, FamilyRows rows);

  const Labellings& labellings() const { return labellings_; }
  std::size_t rows() const { return rows_.count(); }
  // Returns the difference of the means, and its adjusted p; NaN and 1 if a side has no figure.
  double get_shift(std::size_t row) const { return shifts_[row]; }
  double get_p(std::size_t row) const { return ps_[row]; }
  // Returns the unadjusted p: the p if the row were the only one of its family.
  double get_unadjusted_p(std::size_t row) const { return unadjusted_ps_[row]; }
  // Returns the means whose difference is the shift.
  double get_baseline_mean(std::size_t row) const { return baseline_means_[row]; }
  double get_candidate_mean(std::size_t row) const { return baseline_means_[row] + shifts_[row]; }
  // Returns the row's error over all runs, as if they were from one side.
  double get_error(std::size_t row) const { return errors_[row]; }
  // Returns the row's figures, and the smallest difference that two of them can have.
  std::span<const double> get_values(std::size_t row) const { return rows_.row(row); }
  double get_resolution(std::size_t row) const { return rows_.resolutions[row]; }
  // Returns the smallest statistic with a p of at most alpha; NaN if there is none.
  double compute_required_statistic(double alpha) const;
  // Returns the smallest difference of this row, with its current error, that has p <= alpha; NaN
  // if there is none.
  double compute_required_difference(std::size_t row, double alpha) const;
  // Returns the quantile `share`, over all labellings, of the difference of the sides' means; NaN
  // with gaps.
  double compute_difference_quantile(std::size_t row, double share) const;
  // Returns the row's interval at 1 - alpha; unbounded if there are too few runs for it.
  Interval compute_interval(std::size_t row, double alpha) const;
  // Returns the intervals of all rows, with a few OS threads: rows share labellings, which are made
  // and visited once.
  std::vector<Interval> compute_all_intervals(double alpha) const;

 private:
  std::vector<Interval> compute_intervals(std::span<const std::size_t> rows, double alpha) const;

  Labellings labellings_;
  FamilyRows rows_;
  std::vector<double> shifts_, baseline_means_, ps_, unadjusted_ps_;
  std::vector<double> errors_;  // of all runs
  std::vector<double> pads_;
  std::vector<double> largest_;  // by labelling, ascending
};

}  // namespace ctprof::statistics
