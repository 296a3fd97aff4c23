#include "core/statistics/eligible_rows.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ctprof::statistics {
namespace {

constexpr double kEqualTolerance = 1e-12;  // relative: rates of equal counts differ by rounding

bool are_equal(double a, double b) {
  return std::abs(a - b) <= kEqualTolerance * std::max(std::abs(a), std::abs(b));
}

std::size_t count_different_pairs(std::span<const double> row) {
  const std::size_t pairs = row.size() / 2;
  std::size_t different = 0;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const double before = row[pair], after = row[pairs + pair];
    if (std::isnan(before) || std::isnan(after)) continue;
    if (!are_equal(before, after)) ++different;
  }
  return different;
}

}  // namespace

std::size_t count_different_figures(std::span<const double> row, const Design& design) {
  if (design.is_paired) return count_different_pairs(row);
  std::vector<double> figures;
  for (const double figure : row)
    if (!std::isnan(figure)) figures.push_back(figure);
  std::ranges::sort(figures);
  std::size_t largest_group = 0, first = 0;
  for (std::size_t at = 0; at < figures.size(); ++at) {
    if (!are_equal(figures[first], figures[at])) first = at;
    largest_group = std::max(largest_group, at - first + 1);
  }
  return figures.size() - largest_group;
}

// The labellings with the largest statistic put all runs with a different figure on one side. The
// other runs of that side can be any.
double compute_smallest_p(const Design& design, std::size_t different) {
  const double least = compute_smallest_p(design);
  if (design.is_paired) return std::max(least, std::min(1.0, std::ldexp(2, -int(different))));
  const std::size_t side = std::min(design.baseline, design.candidate);
  if (different >= side) return least;
  double share = design.baseline == design.candidate ? 2 : 1;
  for (std::size_t at = 0; at < different; ++at)
    share *= static_cast<double>(side - at) / static_cast<double>(design.runs() - at);
  return std::max(least, std::min(1.0, share));
}

bool follows_trend(std::span<const double> row, const Design& design) {
  constexpr std::size_t kMinPairs = 5;
  const std::size_t pairs = design.baseline;
  if (!design.is_paired || pairs < kMinPairs) return false;
  std::vector<double> means;
  double differences = 0;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    means.push_back((row[pair] + row[pairs + pair]) / 2);
    differences += std::abs(row[pairs + pair] - row[pair]);
  }
  // Comparisons with NaN are false.
  for (std::size_t pair = 1; pair < pairs; ++pair)
    if (!((means[pair] - means[pair - 1]) * (means.back() - means.front()) > 0)) return false;
  const double step = std::abs(means.back() - means.front()) / (2 * static_cast<double>(pairs - 1));
  const double difference = differences / static_cast<double>(pairs);
  return difference >= step / 2 && difference <= step * 2;
}

bool is_eligible(std::span<const double> row, const Design& design, double alpha) {
  return !follows_trend(row, design) &&
         compute_smallest_p(design, count_different_figures(row, design)) <=
             std::max(alpha, compute_smallest_p(design));
}

}  // namespace ctprof::statistics
