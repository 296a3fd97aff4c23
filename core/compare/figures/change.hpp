// What changed between the first side and another, in one metric of a group; and figures that need
// time: rates per second between two sides, and per second of how long groups have lived.
//
// The seconds between the two values of a group are those between the mean times at which its
// threads were read; for processes, cgroups and the host, those between the starts of the captures.
// Exchanging the files does not turn a rate's sign: it has that of the difference.

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

enum class Moved : std::uint8_t {
  No,
  Yes,
  OneSide,  // only one side has a value
  Nowhere,  // no value on either
};

struct Change {
  Moved moved = Moved::Nowhere;
  Difference difference;
  std::string word;   // if the rule has no number for it: "differs"
  double pct = 0;     // of the baseline, as a fraction; NaN for none
  bool alike = true;  // both sides are made of the same parts (MadeOf); otherwise there is no pct
};

// One key of a map on both sides.
struct PartChange {
  std::string_view key;
  std::string_view unit;
  ctprof_number baseline, candidate;  // none if that side lacks the key
  Difference difference;
  double pct = 0;  // NaN for none
};

class Changes {
 public:
  // Both outlive this.
  Changes(const Rollup& rollup, const MetricPlan& plan) : rollup_(&rollup), plan_(&plan) {}

  // Of the side against the first. REQUIRES: there are two sides at least.
  Change of(std::uint32_t group, std::size_t metric, std::size_t side) const;
  // The same if both sides have been read already.
  Change between(const CellValue& baseline, const CellValue& candidate, std::size_t metric) const;
  // The keys that either side has, in the order of their bytes.
  std::vector<PartChange> parts(std::uint32_t group, std::size_t metric, std::size_t side) const;

 private:
  const Rollup* rollup_;
  const MetricPlan* plan_;
};

// The difference as a fraction of the baseline; NaN if the baseline is missing or zero.
double percent_of(const Difference& difference, const ctprof_number& baseline);

// Of one side against the first. Windows and sides of several runs have none.
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
  std::string why_none_;  // a sentence; empty: there are rates, if of one boot
  bool one_boot_ = false;
  std::string lacks_times_;  // says which side lacks the times at which its threads were read
  double apart_ = 0;         // seconds between the captures; NaN for none
  std::vector<double> threads_apart_;  // by group
};

// How old the groups of one side's snapshot were at its end: a group is as old as its oldest
// thread, the host is as old as its boot. The total of a lifetime is divided by that age, so that
// CPU time per second never exceeds the number of CPUs.
class Lives {
 public:
  Lives(const Meta& meta, const Rollup& rollup, std::size_t side, const Grouping& grouping);

  // Of what counts up; NaN for none, and where the age is unknown.
  double per_second(CellAt at, const PlannedMetric& metric, const Rollup& rollup) const;

 private:
  double host_ = 0;              // seconds; NaN for none
  std::vector<double> threads_;  // by group
};

// How long the threads of each group have lived, as a share of the group that has lived longest;
// NaN if unknown. A lifetime is from the mean of the threads' starts to the newest start in the
// last candidate. The longest is taken among groups that the baseline has too.
std::vector<double> uptimes(const Rollup& rollup, const Grouping& grouping);

}  // namespace ctprof
