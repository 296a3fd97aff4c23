// What lies between the first side of a group's metric and another.

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
  OneSide,  // a value on one side alone
  Nowhere,  // no value on either
};

struct Change {
  Moved moved = Moved::Nowhere;
  Difference difference;
  std::string word;   // where the rule has no number for it: "differs"
  double pct = 0;     // of the baseline, as a fraction; NaN for none
  bool alike = true;  // made of the same parts (made_of.hpp); otherwise there is no pct
};

// One key of a map on both sides.
struct PartChange {
  std::string_view key;
  std::string_view unit;
  ctprof_number baseline, candidate;  // none where that side lacks the key
  Difference difference;
  double pct = 0;  // NaN for none
};

class Changes {
 public:
  // Both outlive this.
  Changes(const Rollup& rollup, const MetricPlan& plan) : rollup_(&rollup), plan_(&plan) {}

  // Of the side against the first. REQUIRES: there are two sides at least.
  Change of(std::uint32_t group, std::size_t metric, std::size_t side) const;
  // The same for who has read both sides already.
  Change between(const Reading& baseline, const Reading& candidate, std::size_t metric) const;
  // Key by key, in the order of their bytes; keys that either side has.
  std::vector<PartChange> parts(std::uint32_t group, std::size_t metric, std::size_t side) const;

 private:
  const Rollup* rollup_;
  const MetricPlan* plan_;
};

// The difference as a fraction of the baseline; NaN where there is none or it is zero.
double percent_of(const Difference& difference, const ctprof_number& baseline);

}  // namespace ctprof
