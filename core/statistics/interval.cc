#include "core/statistics/interval.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace ctprof::statistics {
namespace {

double compute_mean(std::span<const double> figures) {
  return std::accumulate(figures.begin(), figures.end(), 0.0) / static_cast<double>(figures.size());
}

// The difference of a labelling's means after the candidate was shifted to the baseline, and its
// change per unit of further shift. A slope of 1 or -1 changes like the observed difference.
struct LabellingLine {
  double difference = 0, slope = 0;
};

// Returns the shift, upwards from the observed one, up to which the means of the labelling are at
// least as far apart.
double compute_reach(const LabellingLine& line) {
  if (1 - std::abs(line.slope) < kTieTolerance) return std::numeric_limits<double>::infinity();
  return line.difference >= 0 ? line.difference / (1 + line.slope)
                              : -line.difference / (1 - line.slope);
}

// Returns the bound of the shifts whose p is above alpha. Reorders `reaches`.
double find_bound(std::span<double> reaches, double alpha) {
  const auto rejected =
      static_cast<std::size_t>(alpha * static_cast<double>(reaches.size()) + kTieTolerance);
  if (rejected >= reaches.size()) return 0;
  const auto last = reaches.begin() + static_cast<std::ptrdiff_t>(rejected);
  std::ranges::nth_element(reaches, last, std::ranges::greater{});
  return *last;
}

// Several rows, each minus the means of its sides.
class Residuals {
 public:
  Residuals(std::span<const std::vector<double>> rows, const Design& design)
      : design_(design), rows_(rows.size()), shifts_(rows_), totals_(rows_), sums_(rows_) {
    const std::size_t first_side = design.is_paired ? 0 : design.baseline;
    if (rows_ > 0) residuals_.resize(rows.front().size() * rows_);
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::span<const double> figures = rows[row];
      const double baseline_mean = first_side ? compute_mean(figures.first(first_side)) : 0;
      const double candidate_mean = compute_mean(figures.subspan(first_side));
      shifts_[row] = candidate_mean - baseline_mean;
      for (std::size_t at = 0; at < figures.size(); ++at) {
        const double residual = figures[at] - (at < first_side ? baseline_mean : candidate_mean);
        residuals_[at * rows_ + row] = residual;
        totals_[row] += residual;
      }
    }
  }

  double shift(std::size_t row) const { return shifts_[row]; }

  // Calls visit(row, line) for each row.
  template <class Visit>
  void visit_lines(std::span<const std::uint8_t> marks, Visit visit) {
    std::ranges::fill(sums_, 0);
    design_.is_paired ? visit_pair_lines(marks, visit) : visit_side_lines(marks, visit);
  }

 private:
  template <class Visit>
  void visit_pair_lines(std::span<const std::uint8_t> flips, Visit visit) {
    const auto pairs = static_cast<double>(flips.size());
    double slope = 0;
    for (std::size_t pair = 0; pair < flips.size(); ++pair) {
      const double sign = flips[pair] ? -1 : 1;
      slope += sign;
      add_residuals(pair, sign);
    }
    for (std::size_t row = 0; row < rows_; ++row)
      visit(row, LabellingLine{sums_[row] / pairs, slope / pairs});
  }

  // Adds up the side with fewer runs; the sum of the other side follows from the total.
  template <class Visit>
  void visit_side_lines(std::span<const std::uint8_t> sides, Visit visit) {
    const bool adds_candidate = design_.candidate <= design_.baseline;
    double unchanged_candidates = 0;  // runs of the candidate
    for (std::size_t run = 0; run < sides.size(); ++run) {
      if (sides[run] && run >= design_.baseline) ++unchanged_candidates;
      if ((sides[run] != 0) == adds_candidate) add_residuals(run, 1);
    }
    const auto n = static_cast<double>(design_.baseline),
               m = static_cast<double>(design_.candidate);
    const double slope = unchanged_candidates / m - (m - unchanged_candidates) / n;
    for (std::size_t row = 0; row < rows_; ++row) {
      const double candidate_sum = adds_candidate ? sums_[row] : totals_[row] - sums_[row];
      visit(row, LabellingLine{candidate_sum / m - (totals_[row] - candidate_sum) / n, slope});
    }
  }

  void add_residuals(std::size_t at, double sign) {
    const double* residuals = residuals_.data() + at * rows_;
    for (std::size_t row = 0; row < rows_; ++row) sums_[row] += sign * residuals[row];
  }

  Design design_;
  std::size_t rows_;
  std::vector<double> residuals_;  // by run or pair, then by row
  std::vector<double> shifts_, totals_, sums_;
};

}  // namespace

std::vector<Interval> compute_intervals(std::span<const std::vector<double>> rows,
                                        const Labellings& labellings, double alpha) {
  Residuals residuals(rows, labellings.design());
  const std::size_t size = labellings.size();
  std::vector<double> upward_reaches(rows.size() * size), downward_reaches(upward_reaches.size());
  for (std::size_t at = 0; at < size; ++at)
    residuals.visit_lines(labellings[at], [&](std::size_t row, const LabellingLine& line) {
      upward_reaches[row * size + at] = compute_reach(line);
      downward_reaches[row * size + at] = compute_reach({-line.difference, line.slope});
    });
  std::vector<Interval> intervals;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const double low = find_bound(std::span(downward_reaches).subspan(row * size, size), alpha);
    const double high = find_bound(std::span(upward_reaches).subspan(row * size, size), alpha);
    intervals.push_back({residuals.shift(row) - low, residuals.shift(row) + high});
  }
  return intervals;
}

}  // namespace ctprof::statistics
