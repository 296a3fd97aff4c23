#include "core/statistics/autocorrelation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ctprof::statistics {
namespace {

// The sum of correlations ends at this multiple of the autocorrelation time.
constexpr double kMaxDistanceInTimes = 5;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
// The number of standard errors by which the time of one series must exceed the time of all series.
constexpr double kStandardErrors = 1;

// Scales a series to mean 0 and sum of squares 1; returns zeros if its figures are equal.
std::vector<double> normalize(std::vector<double> series) {
  const double mean =
      std::accumulate(series.begin(), series.end(), 0.0) / static_cast<double>(series.size());
  for (double& figure : series) figure -= mean;
  const double squares = std::inner_product(series.begin(), series.end(), series.begin(), 0.0);
  for (double& figure : series) figure = squares > 0 ? figure / std::sqrt(squares) : 0;
  return series;
}

double compute_correlation(const std::vector<double>& series, std::size_t distance) {
  return std::inner_product(series.begin() + static_cast<std::ptrdiff_t>(distance), series.end(),
                            series.begin(), 0.0);
}

AutocorrelationTime estimate_time(std::span<const std::vector<double>> series) {
  const std::size_t figures = series.front().size(), max_distance = figures / 2;
  double time = 1;
  std::size_t distance = 0;
  while (static_cast<double>(distance) < kMaxDistanceInTimes * std::max(time, 1.0)) {
    // The series has too few independent parts for any limit of the sum.
    if (kMaxDistanceInTimes * time > static_cast<double>(max_distance)) return {kInfinite, 0};
    double sum = 0;
    ++distance;
    for (const std::vector<double>& one : series) sum += compute_correlation(one, distance);
    time += 2 * sum / static_cast<double>(series.size());
  }
  const double summed = static_cast<double>(2 * distance + 1) / static_cast<double>(figures);
  time = std::max(time, 1.0) * (1 + summed);
  return {time, time * std::sqrt(2 * summed)};
}

std::vector<std::vector<double>> normalize_all(std::span<const std::vector<double>> series) {
  std::vector<std::vector<double>> all;
  for (const std::vector<double>& one : series) all.push_back(normalize(one));
  return all;
}

}  // namespace

AutocorrelationTime estimate_autocorrelation_time(std::span<const std::vector<double>> series) {
  return estimate_time(normalize_all(series));
}

double estimate_shared_autocorrelation_time(std::span<const std::vector<double>> series) {
  if (series.empty()) return 1;
  const std::vector<std::vector<double>> all = normalize_all(series);
  double longest = estimate_time(all).time;
  for (const std::vector<double>& one : all) {
    const AutocorrelationTime own = estimate_time({&one, 1});
    longest = std::max(longest, own.time - kStandardErrors * own.error);
  }
  return longest;
}

}  // namespace ctprof::statistics
