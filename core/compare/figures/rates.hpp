// Rates: differences per second, of what counts up.
//
// The seconds between the two values of a group are those between the mean times at which its
// threads were read on either side; of a process, a cgroup or the host, those between the starts of
// the captures. The order of the files does not turn a rate's sign: it has that of the difference.
//
// What is here:   rates, and a sentence for each cause why there is none.
// What is not:    the difference (change.hpp).

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

class Rates {
 public:
  // Of the side against the first. Nobody outlives the plan and the grouping.
  Rates(std::span<const RunFacts> runs, std::size_t side, const MetricPlan& plan,
        const Rollup& rollup, const Grouping& grouping);

  // In the metric's unit, per second; NaN for none.
  double of(std::uint32_t group, std::size_t metric, const Difference& difference) const;
  // The same for one key of a map.
  double of_key(std::uint32_t group, std::size_t metric, std::string_view key,
                const Difference& difference) const;
  // Where there can be none, and why.
  std::vector<std::string> why_not() const;

 private:
  double seconds(std::uint32_t group, Entity entity) const;

  const MetricPlan* plan_;
  bool one_boot_ = false;
  std::string lacks_times_;  // the side that does not say when its threads were read, or both
  double apart_ = 0;         // of the captures, in seconds; NaN for none
  std::vector<double> threads_apart_;  // by group
};

}  // namespace ctprof
