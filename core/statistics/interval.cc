#include "core/statistics/interval.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace ctprof::statistics {
namespace {

double mean(std::span<const double> figures) {
  return std::accumulate(figures.begin(), figures.end(), 0.0) / static_cast<double>(figures.size());
}

// The difference of a labelling's means after the candidate was shifted to the baseline, and its
// change per unit of further shift. A slope of 1 or -1 changes like the observed difference.
struct Line {
  double apart = 0, slope = 0;
};

// Returns the shift, upwards from the observed one, up to which the means of the labelling are at
// least as far apart.
double reach(const Line& line) {
  if (1 - std::abs(line.slope) < kTie) return std::numeric_limits<double>::infinity();
  return line.apart >= 0 ? line.apart / (1 + line.slope) : -line.apart / (1 - line.slope);
}

// Returns the bound of the shifts whose p is above alpha. Reorders `reaches`.
double end_of(std::span<double> reaches, double alpha) {
  const auto rejected =
      static_cast<std::size_t>(alpha * static_cast<double>(reaches.size()) + kTie);
  if (rejected >= reaches.size()) return 0;
  const auto last = reaches.begin() + static_cast<std::ptrdiff_t>(rejected);
  std::ranges::nth_element(reaches, last, std::ranges::greater{});
  return *last;
}

// Several rows, each minus the means of its sides.
class Rests {
 public:
  Rests(std::span<const std::vector<double>> rows, const Design& design)
      : design_(design), rows_(rows.size()), shifts_(rows_), all_(rows_), sums_(rows_) {
    const std::size_t first_side = design.paired ? 0 : design.baseline;
    if (rows_ > 0) rests_.resize(rows.front().size() * rows_);
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::span<const double> figures = rows[row];
      const double before = first_side ? mean(figures.first(first_side)) : 0;
      const double after = mean(figures.subspan(first_side));
      shifts_[row] = after - before;
      for (std::size_t at = 0; at < figures.size(); ++at) {
        const double rest = figures[at] - (at < first_side ? before : after);
        rests_[at * rows_ + row] = rest;
        all_[row] += rest;
      }
    }
  }

  double shift(std::size_t row) const { return shifts_[row]; }

  // Calls visit(row, line) for each row.
  template <class Visit>
  void lines(std::span<const std::uint8_t> marks, Visit visit) {
    std::ranges::fill(sums_, 0);
    design_.paired ? lines_of_pairs(marks, visit) : lines_of_sides(marks, visit);
  }

 private:
  template <class Visit>
  void lines_of_pairs(std::span<const std::uint8_t> flips, Visit visit) {
    const auto pairs = static_cast<double>(flips.size());
    double slope = 0;
    for (std::size_t pair = 0; pair < flips.size(); ++pair) {
      const double sign = flips[pair] ? -1 : 1;
      slope += sign;
      add(pair, sign);
    }
    for (std::size_t row = 0; row < rows_; ++row)
      visit(row, Line{sums_[row] / pairs, slope / pairs});
  }

  // Adds up the side with fewer runs; the sum of the other side follows from the total.
  template <class Visit>
  void lines_of_sides(std::span<const std::uint8_t> sides, Visit visit) {
    const bool adds_candidate = design_.candidate <= design_.baseline;
    double stayed = 0;  // runs of the candidate
    for (std::size_t run = 0; run < sides.size(); ++run) {
      if (sides[run] && run >= design_.baseline) ++stayed;
      if ((sides[run] != 0) == adds_candidate) add(run, 1);
    }
    const auto n = static_cast<double>(design_.baseline),
               m = static_cast<double>(design_.candidate);
    const double slope = stayed / m - (m - stayed) / n;
    for (std::size_t row = 0; row < rows_; ++row) {
      const double candidates = adds_candidate ? sums_[row] : all_[row] - sums_[row];
      visit(row, Line{candidates / m - (all_[row] - candidates) / n, slope});
    }
  }

  void add(std::size_t at, double sign) {
    const double* rests = rests_.data() + at * rows_;
    for (std::size_t row = 0; row < rows_; ++row) sums_[row] += sign * rests[row];
  }

  Design design_;
  std::size_t rows_;
  std::vector<double> rests_;  // by mark, then by row
  std::vector<double> shifts_, all_, sums_;
};

}  // namespace

std::vector<Interval> invert(std::span<const std::vector<double>> rows,
                             const Labellings& labellings, double alpha) {
  Rests rests(rows, labellings.design());
  const std::size_t size = labellings.size();
  std::vector<double> up(rows.size() * size), down(up.size());
  for (std::size_t at = 0; at < size; ++at)
    rests.lines(labellings[at], [&](std::size_t row, const Line& line) {
      up[row * size + at] = reach(line);
      down[row * size + at] = reach({-line.apart, line.slope});
    });
  std::vector<Interval> intervals;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const double low = end_of(std::span(down).subspan(row * size, size), alpha);
    const double high = end_of(std::span(up).subspan(row * size, size), alpha);
    intervals.push_back({rests.shift(row) - low, rests.shift(row) + high});
  }
  return intervals;
}

}  // namespace ctprof::statistics
