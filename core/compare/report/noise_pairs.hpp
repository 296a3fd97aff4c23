// How many pairs of runs would show a shift, by the runs of one condition.
//
// Pairs of `record --interleave` are runs one after the other, so the difference of a pair varies
// as the differences of consecutive runs do. Families of any number of pairs are drawn from these
// differences with random signs, all rows of a pair together, from a fixed seed; they show how much
// a row has to stand out among all rows. A shift is shown in about 9 of 10 comparisons if it
// exceeds that by 1.28 standard errors.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/statistics/family.hpp"
#include "core/statistics/labellings.hpp"

namespace ctprof {

// A difference that exceeds what is needed by so many standard errors is found in 9 of 10
// comparisons.
inline constexpr double kNineOfTen = 1.28;

class NoisePairs {
 public:
  // `family`: of the runs in the order in which they were recorded. REQUIRES: it outlives this.
  NoisePairs(const statistics::Family& family, double alpha) : family_(&family), alpha_(alpha) {}

  // The difference of logarithms that so many pairs show for this row; NaN where they show none.
  double shows(std::size_t row, std::size_t pairs);
  // The smallest number of pairs that shows it; none up to kMostPairs.
  std::optional<std::size_t> enough(std::size_t row, double difference);

 private:
  // How much the statistic of a row must be at least among so many pairs; NaN: it never suffices.
  double needed(std::size_t pairs);
  statistics::FamilyRows drawn(std::size_t pairs, statistics::Dice& dice) const;

  const statistics::Family* family_;
  double alpha_;
  std::vector<double> needed_;  // by number of pairs; 0: not computed yet
};

inline constexpr std::size_t kMostPairs = 64;

}  // namespace ctprof
