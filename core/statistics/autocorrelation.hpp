// Autocorrelation: for how many consecutive figures a series resembles itself, and so into how many
// parts it can be cut that say as much as independent figures.
//
// Figures of consecutive windows are not independent: a host that is busy now is usually busy a
// second later. A permutation test of such figures finds a difference between any two hours. The
// means of long blocks are nearly independent; how long they must be follows from the
// autocorrelation time of the figures, 1 + 2 (r1 + r2 + ...), where r is the correlation of figures
// at a distance. It is 1 for independent figures.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ctprof::statistics {

// In figures of the series. `error` is the standard error of the estimate.
struct AutocorrelationTime {
  double time = 1;
  double error = 0;
};

// That of the mean correlations of several series. The sum ends at a distance of five times the
// result, where correlations are noise; infinite if that is more than half of the series. Corrected
// for the means, which are estimated from the same figures and make each correlation too small. A
// series of equal figures has no correlation. REQUIRES: all have equally many figures, one at
// least.
AutocorrelationTime autocorrelation_time(std::span<const std::vector<double>> series);

// The time of several series that are tested together: that of their mean correlations, or, if it
// is longer, the time that one of them probably exceeds (one standard error below its
// own). REQUIRES: as above; 1 if there is no series.
double shared_autocorrelation_time(std::span<const std::vector<double>> series);

}  // namespace ctprof::statistics
