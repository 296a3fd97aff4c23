// Changes between the first side and another in one metric of a group. Also computes values that
// need a duration: rates between two sides, and lifetime totals divided by the age of a group.
//
// The duration for the threads of a group is the time between their mean read times on both sides;
// for processes, cgroups and the host it is the time between the starts of the captures. Exchanging
// the files does not change the sign of the duration: a rate has the sign of the difference.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/figures/run_facts.hpp"
#include "core/compare/grouping/grouping.hpp"

namespace ctprof {

enum class ChangeState : std::uint8_t {
  Unchanged,
  Changed,
  OneSide,  // only one side has a value
  NoSide,   // no side has a value
};

struct Change {
  ChangeState state = ChangeState::NoSide;
  Difference difference;
  std::string rule_text;  // result of a rule without a number, such as "differs"
  double pct = 0;         // fraction of the baseline; NaN if unavailable
  // Whether both sides have the same parts (DerivedParts); otherwise pct is unavailable.
  bool has_same_parts = true;
};

// One map key on both sides.
struct KeyChange {
  std::string_view key;
  std::string_view unit;
  ctprof_number baseline, candidate;  // no number if that side lacks the key
  Difference difference;
  double pct = 0;  // NaN if unavailable
};

class Changes {
 public:
  // REQUIRES: both outlive this object.
  Changes(const Rollup& rollup, const MetricPlan& plan) : rollup_(&rollup), plan_(&plan) {}

  // Returns the change from the first side to `side`. REQUIRES: there are at least two sides.
  Change change(std::uint32_t group, std::size_t metric, std::size_t side) const;
  // Returns the change between two values that were already read.
  Change change_between(const CellValue& baseline, const CellValue& candidate,
                        std::size_t metric) const;
  // Returns the keys that either side has, ordered by their bytes.
  std::vector<KeyChange> map_changes(std::uint32_t group, std::size_t metric,
                                     std::size_t side) const;

 private:
  const Rollup* rollup_;
  const MetricPlan* plan_;
};

// Returns the difference as a fraction of the baseline; NaN if the baseline is missing or zero.
double fraction_of_baseline(const Difference& difference, const ctprof_number& baseline);

// Rates of one side relative to the first. Windows and sides with several runs have none.
class Rates {
 public:
  // REQUIRES: plan and grouping outlive this object.
  Rates(std::span<const RunFacts> runs, std::size_t side, const MetricPlan& plan,
        const Rollup& rollup, const Grouping& grouping);

  // Returns the rate in the metric's unit per second; NaN if unavailable.
  double rate(std::uint32_t group, std::size_t metric, const Difference& difference) const;
  // Returns the rate of one map key.
  double key_rate(std::uint32_t group, std::size_t metric, std::string_view key,
                  const Difference& difference) const;
  // Returns one sentence for each reason why rates are missing.
  std::vector<std::string> explain_missing_rates() const;

 private:
  double seconds(std::uint32_t group, Entity entity) const;

  const MetricPlan* plan_;
  std::string missing_reason_;  // a sentence; empty: rates exist if the sides are of the same boot
  bool one_boot_ = false;
  std::string missing_times_message_;         // names the side without read times of threads
  double seconds_apart_ = 0;                  // seconds between the captures; NaN if unknown
  std::vector<double> thread_seconds_apart_;  // by group
};

// The ages of the groups of one side at the end of its snapshot. A group is as old as its oldest
// thread; the host is as old as its boot. Dividing a lifetime total by this age keeps CPU time per
// second at or below the number of CPUs.
class GroupAges {
 public:
  GroupAges(const Meta& meta, const Rollup& rollup, std::size_t side, const Grouping& grouping);

  // Returns the rate of a counter; NaN for other metrics and where the age is unknown.
  double per_second(CellPosition at, const PlannedMetric& metric, const Rollup& rollup) const;

 private:
  double host_age_ = 0;                     // in seconds; NaN if unknown
  std::vector<double> oldest_thread_ages_;  // by group, in seconds; NaN if unknown
};

// Returns the mean lifetime of the threads of each group, as a fraction of the largest group
// lifetime; NaN if unknown. A lifetime is the time from the mean start of the group's threads to
// the newest start in the last candidate. The largest lifetime is taken from groups that the
// baseline also has.
std::vector<double> group_lifetime_shares(const Rollup& rollup, const Grouping& grouping);

}  // namespace ctprof
