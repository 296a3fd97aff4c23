// Computes how many pairs of runs would detect a shift, from the runs of one condition.
//
// `record --interleave` records the runs of a pair one after the other, so the differences of pairs
// vary like the differences of consecutive runs. The algorithm draws families with any number of
// pairs from these differences, with random signs, all rows of a pair together, and a fixed seed.
// These families determine how large a row's statistic must be among all rows. A shift is detected
// in about 9 of 10 comparisons if it exceeds that by 1.28 standard errors.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/statistics/family.hpp"
#include "core/statistics/labellings.hpp"

namespace ctprof {

// A difference that exceeds the required one by this number of standard errors is detected in 9 of
// 10 comparisons.
inline constexpr double kNinetyPercentQuantile = 1.28;

class NoisePairs {
 public:
  // `family`: the runs in the order of recording. REQUIRES: it outlives this object.
  NoisePairs(const statistics::Family& family, double alpha) : family_(&family), alpha_(alpha) {}

  // Returns the difference of logarithms that this number of pairs detects for the row; NaN if none
  // can be detected.
  double detectable_difference(std::size_t row, std::size_t pairs);
  // Returns the smallest number of pairs that detects the difference; no value if kMaxPairs do
  // not.
  std::optional<std::size_t> required_pairs(std::size_t row, double difference);

 private:
  // Returns the minimum significant statistic of a row for this number of pairs; NaN if no
  // statistic is significant.
  double required_statistic(std::size_t pairs);
  statistics::FamilyRows draw_family(std::size_t pairs, statistics::RandomNumbers& dice) const;

  const statistics::Family* family_;
  double alpha_;
  std::vector<double> required_statistics_;  // by number of pairs; 0: not computed yet
};

inline constexpr std::size_t kMaxPairs = 64;

}  // namespace ctprof
