// Limits the work and output that input files can cause, in proportion to their size: counts steps
// of work and bytes of output, and selects the metrics to omit beyond the limit.
//
// A few bytes of a file can be repeated in many places of a report: a name in every row, an
// expression for every group. Real files cause about 15 bytes of output for each byte of their
// text, and less than one step of work.

#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/run_facts.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/compare/request/spec.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

class Allowance {
 public:
  // An allowance for one kind of work over all sides. Snapshots that do not come from a file are
  // not limited.
  explicit Allowance(std::span<const Snapshot* const> sides) {
    for (const Snapshot* side : sides) add_allowance(side->text_bytes);
  }
  explicit Allowance(std::span<const RunFacts> sides) {
    for (const RunFacts& side : sides) add_allowance(side.text_bytes);
  }
  explicit Allowance(std::span<const std::size_t> text_bytes) {
    for (const std::size_t bytes : text_bytes) add_allowance(bytes);
  }
  // The allowance of one of `runs` runs: its share of the total.
  Allowance(std::size_t text_bytes, std::size_t runs) : remaining_(kBaseAllowance / runs) {
    add_allowance(text_bytes);
  }
  // Subtracts the amount. Returns false if less than that amount was left, and in all later calls.
  bool spend(std::size_t amount) {
    remaining_ = amount > remaining_ ? 0 : remaining_ - amount;
    return remaining_ > 0;
  }
  bool is_spent() const { return remaining_ == 0; }
  std::size_t remaining() const { return remaining_; }

 private:
  void add_allowance(std::size_t text_bytes) {
    const std::size_t more = text_bytes == 0 ? kUnlimited : kPerByte * text_bytes;
    remaining_ = more > kUnlimited - remaining_ ? kUnlimited : remaining_ + more;
  }

  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kBaseAllowance = 64 * 1024 * 1024;  // added for files of any size
  static constexpr std::size_t kPerByte = 32;

  std::size_t remaining_ = kBaseAllowance;
};

// Selects the metrics to omit because of their cost. Each metric has a value and a row for every
// group, and a small file can declare thousands of both. Metrics that the user named (--metrics,
// --sort-by, --where, --fail-on) and their inputs are always kept. The other metrics are considered
// in the order of the plan, shown metrics before inputs.
class ExpensiveMetricFilter {
 public:
  // REQUIRES: all arguments outlive this object.
  ExpensiveMetricFilter(const MetricPlan& plan, const Spec& spec,
                        std::span<const Condition> group_conditions);

  // Returns, by metric, which exceed the share of one run with these groups.
  std::vector<bool> find_for_run(const RunGroups& groups, std::size_t text_bytes,
                                 std::size_t runs) const;
  // Returns, by metric, which exceed the allowance of all runs; `text_bytes` has one entry for each
  // run.
  std::vector<bool> find_for_all_runs(const Grouping& grouping,
                                      std::span<const std::size_t> text_bytes) const;

 private:
  template <class Groups>
  std::vector<bool> find_over_allowance(Allowance allowance, const Groups& groups,
                                        std::size_t runs) const;
  void mark_as_named(std::size_t metric);

  const MetricPlan* plan_;
  std::vector<bool> named_;
};

// Omits these metrics from the plan, and adds a note to it.
void omit_metrics(MetricPlan& plan, const std::vector<bool>& is_over_allowance, std::size_t groups);

}  // namespace ctprof
