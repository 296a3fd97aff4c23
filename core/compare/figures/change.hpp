// What changed between the first side and another, in one metric of a group.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/figures/rollup.hpp"

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

}  // namespace ctprof
