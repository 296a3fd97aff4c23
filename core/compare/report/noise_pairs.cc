#include "core/compare/report/noise_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ctprof {
namespace {

constexpr std::size_t kFamiliesDrawn = 8;
constexpr std::size_t kPairsTried[] = {5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48, kMostPairs};

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

double pad_of(const statistics::Family& family, std::size_t row, std::size_t pairs) {
  return std::max(family.resolution(row), statistics::kLeastResolution) *
         std::sqrt(2 / static_cast<double>(pairs));
}

}  // namespace

statistics::FamilyRows NoisePairs::drawn(std::size_t pairs, statistics::Dice& dice) const {
  const std::size_t differences = family_->labellings().design().runs() - 1;
  std::vector<std::size_t> chosen;
  std::vector<double> signs;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    chosen.push_back(dice.below(differences));
    signs.push_back(dice.below(2) ? 1 : -1);
  }
  statistics::FamilyRows rows;
  for (std::size_t row = 0; row < family_->rows(); ++row) {
    const auto runs = family_->values(row);
    rows.resolutions.push_back(family_->resolution(row));
    rows.values.insert(rows.values.end(), pairs, 0);
    for (std::size_t pair = 0; pair < pairs; ++pair)
      rows.values.push_back(signs[pair] * (runs[chosen[pair] + 1] - runs[chosen[pair]]));
  }
  return rows;
}

double NoisePairs::needed(std::size_t pairs) {
  needed_.resize(std::max(needed_.size(), pairs + 1));
  double& known = needed_[pairs];
  if (known != 0) return known;
  const statistics::Design design{pairs, pairs, true};
  if (family_->rows() == 0 || statistics::smallest_p(design) > alpha_)
    return known = std::numeric_limits<double>::quiet_NaN();
  statistics::Dice dice(pairs);
  for (std::size_t at = 0; at < kFamiliesDrawn; ++at)
    known +=
        statistics::Family(design, drawn(pairs, dice)).needed_statistic(alpha_) / kFamiliesDrawn;
  return known;
}

double NoisePairs::shows(std::size_t row, std::size_t pairs) {
  const double error =
      spread_of_pairs(family_->values(row)) / std::sqrt(static_cast<double>(pairs));
  return needed(pairs) * (error + pad_of(*family_, row, pairs)) + kNineOfTen * error;
}

std::optional<std::size_t> NoisePairs::enough(std::size_t row, double difference) {
  for (const std::size_t pairs : kPairsTried)
    if (shows(row, pairs) <= difference) return pairs;
  return std::nullopt;
}

}  // namespace ctprof
