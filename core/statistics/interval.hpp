// Computes the shifts that the test of a single row does not reject, by inverting that test.
//
// For a single row, the error can be ignored: if the candidate is shifted back, the sum of squares
// of all figures stays the same, so a labelling with a larger difference of means also has a
// smaller error. The means of a labelling are at least as far apart as the observed ones up to some
// shift, which has a closed form. The bounds of the interval are among these shifts.

#pragma once

#include <limits>
#include <span>
#include <vector>

#include "core/statistics/labellings.hpp"

namespace ctprof::statistics {

struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

// Returns the interval of each row. Rows are independent, but each labelling is visited once for
// all of them. REQUIRES: no gaps; for an unpaired design the figures of all runs, those of the
// baseline first; for pairs the difference of each.
std::vector<Interval> compute_intervals(std::span<const std::vector<double>> rows,
                                        const Labellings& labellings, double alpha);

}  // namespace ctprof::statistics
