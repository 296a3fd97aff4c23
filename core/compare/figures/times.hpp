// Figures that need time: rates per second between two sides, and how long groups have lived.
//
// The seconds between the two values of a group are those between the mean times at which its
// threads were read; for processes, cgroups and the host, those between the starts of the captures.
// Exchanging the files does not turn a rate's sign: it has that of the difference.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/figures/change.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/figures/run_facts.hpp"
#include "core/compare/grouping/grouping.hpp"

namespace ctprof {

// Of one side against the first.
class Rates {
 public:
  // REQUIRES: plan and grouping outlive this.
  Rates(std::span<const RunFacts> runs, std::size_t side, const MetricPlan& plan,
        const Rollup& rollup, const Grouping& grouping);

  // In the metric's unit, per second; NaN for none.
  double of(std::uint32_t group, std::size_t metric, const Difference& difference) const;
  // The same for one key of a map.
  double of_key(std::uint32_t group, std::size_t metric, std::string_view key,
                const Difference& difference) const;
  // A sentence for each reason why there are no rates.
  std::vector<std::string> why_not() const;

 private:
  double seconds(std::uint32_t group, Entity entity) const;

  const MetricPlan* plan_;
  bool one_boot_ = false;
  std::string lacks_times_;  // says which side lacks the times at which its threads were read
  double apart_ = 0;         // seconds between the captures; NaN for none
  std::vector<double> threads_apart_;  // by group
};

// How long the threads of each group have lived, as a share of the group that has lived longest;
// NaN if unknown. A lifetime is from the mean of the threads' starts to the newest start in the
// last candidate. The longest is taken among groups that the baseline has too.
std::vector<double> uptimes(const Rollup& rollup, const Grouping& grouping);

}  // namespace ctprof
