// Evidence: how sure the difference of two sides of several runs is, for each row of a family.
//
// A family is fixed without looking at the sides: it has the rows whose figures, in all runs of
// both sides together, are above the floor. Each row is judged by the logarithms of its figures in
// the runs, rates where rates are told, with the floor added to each. So a shift is a factor,
// nothing is no problem, and what happens far below the floor weighs little.
//
// A group that a run does not have counts as zero in sums that the run has of others; any other gap
// is a gap. Only numbers that are never below zero are judged.
//
// With more than two sides each is judged against the first by itself.
//
// Not here: permutations (core/statistics), which metrics a family has (report/families.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/compare/asked/spec.hpp"
#include "core/compare/evidence/designs.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/statistics/family.hpp"

namespace ctprof {

// What is known of a row's difference between the first side and another. Shifts are fractions of
// the baseline, floor included: 0.2 is 20 % more.
struct Proof {
  double shift = 0;
  double low = 0, high = 0;  // the interval of this row alone; infinite where it has no bound
  double p = 1;              // adjusted for the family
  bool proven = false;       // p <= alpha, and the interval lies beyond --min-shift
};

// Of a row of a family of logarithms; none where a side has no figure.
std::optional<Proof> proof_of(const statistics::Family& family, std::size_t row, const Bar& bar);

// What brings a row of a metric into the family, beside a group that is there at all.
enum class JoinsBy : std::uint8_t {
  Mean,   // its figures are above the floor on average
  Range,  // a level: its group is in, or it differs by the floor from run to run
  Group,  // its group is in with another row
};

// A metric whose rows are judged.
struct JudgedMetric {
  std::uint32_t metric = 0;  // in the plan
  // In the figures' unit, per second where they are. 0: a share of what all groups come to.
  double floor = 0;
  JoinsBy entry = JoinsBy::Mean;
};

class Evidence {
 public:
  // Judges the groups that are not `left_out` (by group; empty: none is). REQUIRES: the rollup
  // outlives this; as many designs as it has sides but the first.
  Evidence(const Rollup& rollup, const MetricPlan& plan, std::span<const std::uint32_t> groups,
           std::span<const JudgedMetric> metrics,
           std::span<const std::optional<SideDesign>> designs, const Bar& bar);

  // None where the side is not judged, or the row is not in the family.
  std::optional<Proof> of(std::uint32_t group, std::size_t metric, std::size_t side) const;
  // The rows of its family, ascending, each a group and a metric.
  using Row = std::pair<std::uint32_t, std::uint32_t>;
  std::span<const Row> rows(std::size_t side) const { return sides_[side - 1].rows; }
  // The family of the side; null if it is not judged.
  const statistics::Family* family(std::size_t side) const { return sides_[side - 1].family.get(); }

 private:
  struct Side {
    std::vector<Row> rows;  // ascending
    std::unique_ptr<statistics::Family> family;
  };

  Side judge(std::span<const std::uint32_t> groups, std::span<const JudgedMetric> metrics,
             const SideDesign& design) const;

  const Rollup* rollup_;
  const MetricPlan* plan_;
  Bar bar_;
  std::vector<Side> sides_;
};

}  // namespace ctprof
