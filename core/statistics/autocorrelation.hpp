// Estimates autocorrelation: over how many consecutive figures a series is correlated, and so into
// how many nearly independent parts it can be divided.
//
// Figures of consecutive windows are not independent: a host that is busy now is usually busy a
// second later. A permutation test of such figures finds a difference between any two hours. The
// means of long blocks are nearly independent. Their required length follows from the
// autocorrelation time of the figures, 1 + 2 (r1 + r2 + ...), where r is the correlation of figures
// at a distance. It is 1 for independent figures.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ctprof::statistics {

// Unit: figures of the series. `error` is the standard error of the estimate.
struct AutocorrelationTime {
  double time = 1;
  double error = 0;
};

// Estimates the time from the mean correlations of several series. The sum ends at a distance of
// five times the result, where correlations are noise; the result is infinite if that distance
// exceeds half of the series. It is corrected for the means, which are estimated from the same
// figures and make each correlation too small. A series of equal figures has no correlation.
// REQUIRES: all series have the same number of figures, at least one.
AutocorrelationTime estimate_autocorrelation_time(std::span<const std::vector<double>> series);

// Estimates the time of several series that are tested together: the time from their mean
// correlations or, if longer, the largest time of one series minus its standard error. REQUIRES: as
// above; returns 1 if there is no series.
double estimate_shared_autocorrelation_time(std::span<const std::vector<double>> series);

}  // namespace ctprof::statistics
