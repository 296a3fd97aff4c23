// Origins: how much of a group's difference came from threads that stayed, that are new, and that
// are gone.
//
// Only a sum over threads can be taken apart so: the three parts add up to the difference.

#pragma once

#include <optional>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/figures/lives.hpp"
#include "core/compare/figures/members.hpp"
#include "core/compare/figures/metric_plan.hpp"

namespace ctprof {

struct Origin {
  Difference alive;  // of threads on both sides, what they did in between
  Difference fresh;  // all that the new ones had come to
  Difference gone;   // less all that the gone ones had come to
};

class Origins {
 public:
  // All outlive this.
  Origins(const MetricPlan& plan, const Lives& lives, const std::vector<Members>& members)
      : plan_(&plan), lives_(&lives), members_(&members) {}

  // None where the metric is no sum over threads, the boots differ, a side has no value or a sum
  // too large to be told exactly, or a value is of a thread that cannot be known again.
  std::optional<Origin> of(std::uint32_t group, std::size_t metric) const;

 private:
  struct Split {
    std::uint64_t stays = 0, turns = 0;
  };
  std::optional<Split> split(std::size_t side, std::uint32_t group,
                             const PlannedMetric& metric) const;

  const MetricPlan* plan_;
  const Lives* lives_;
  const std::vector<Members>* members_;  // of the threads, by side
};

}  // namespace ctprof
