#include "core/compare/report/noise_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ctprof {
namespace {

constexpr std::size_t kDrawnFamilies = 8;
constexpr std::size_t kPairCounts[] = {5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48, kMaxPairs};

// Returns the standard deviation of the differences of consecutive runs.
double spread_of_pairs(std::span<const double> runs) {
  double squares = 0, count = 0;
  for (std::size_t run = 1; run < runs.size(); ++run) {
    const double difference = runs[run] - runs[run - 1];
    if (std::isnan(difference)) continue;
    squares += difference * difference;
    ++count;
  }
  return std::sqrt(squares / count);
}

double resolution_margin(const statistics::Family& family, std::size_t row, std::size_t pairs) {
  return std::max(family.get_resolution(row), statistics::kMinResolution) *
         std::sqrt(2 / static_cast<double>(pairs));
}

}  // namespace

statistics::FamilyRows NoisePairs::draw_family(std::size_t pairs,
                                               statistics::RandomNumbers& dice) const {
  const std::size_t differences = family_->labellings().design().runs() - 1;
  std::vector<std::size_t> chosen_differences;
  std::vector<double> signs;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    chosen_differences.push_back(dice.get_below(differences));
    signs.push_back(dice.get_below(2) ? 1 : -1);
  }
  statistics::FamilyRows rows;
  for (std::size_t row = 0; row < family_->rows(); ++row) {
    const auto runs = family_->get_values(row);
    rows.resolutions.push_back(family_->get_resolution(row));
    rows.values.insert(rows.values.end(), pairs, 0);
    for (std::size_t pair = 0; pair < pairs; ++pair)
      rows.values.push_back(signs[pair] *
                            (runs[chosen_differences[pair] + 1] - runs[chosen_differences[pair]]));
  }
  return rows;
}

double NoisePairs::required_statistic(std::size_t pairs) {
  required_statistics_.resize(std::max(required_statistics_.size(), pairs + 1));
  double& cached_statistic = required_statistics_[pairs];
  if (cached_statistic != 0) return cached_statistic;
  const statistics::Design design{pairs, pairs, true};
  if (family_->rows() == 0 || statistics::compute_smallest_p(design) > alpha_)
    return cached_statistic = std::numeric_limits<double>::quiet_NaN();
  statistics::RandomNumbers dice(pairs);
  for (std::size_t at = 0; at < kDrawnFamilies; ++at)
    cached_statistic +=
        statistics::Family(design, draw_family(pairs, dice)).compute_required_statistic(alpha_) /
        kDrawnFamilies;
  return cached_statistic;
}

double NoisePairs::detectable_difference(std::size_t row, std::size_t pairs) {
  const double error =
      spread_of_pairs(family_->get_values(row)) / std::sqrt(static_cast<double>(pairs));
  return required_statistic(pairs) * (error + resolution_margin(*family_, row, pairs)) +
         kNinetyPercentQuantile * error;
}

std::optional<std::size_t> NoisePairs::required_pairs(std::size_t row, double difference) {
  for (const std::size_t pairs : kPairCounts)
    if (detectable_difference(row, pairs) <= difference) return pairs;
  return std::nullopt;
}

}  // namespace ctprof
