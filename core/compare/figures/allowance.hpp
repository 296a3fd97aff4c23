// What files may ask of a report, in proportion to their size: steps of work, bytes of output, and
// which metrics are left out beyond that.
//
// A few bytes of a file can be repeated in many places of a report: a name in every row, an
// expression for every group. Real files cause some 15 bytes of output for each byte of their text,
// and less than one step of work.

#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "core/compare/asked/spec.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/run_facts.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

class Allowance {
 public:
  // For one kind of work in all. Snapshots that come from no file may ask for anything.
  explicit Allowance(std::span<const Snapshot* const> sides) {
    for (const Snapshot* side : sides) allow(side->text_bytes);
  }
  explicit Allowance(std::span<const RunFacts> sides) {
    for (const RunFacts& side : sides) allow(side.text_bytes);
  }
  explicit Allowance(std::span<const std::size_t> text_bytes) {
    for (const std::size_t bytes : text_bytes) allow(bytes);
  }
  // The part of one of so many runs.
  Allowance(std::size_t text_bytes, std::size_t runs) : left_(kFree / runs) { allow(text_bytes); }
  // Takes the amount. False if that is more than is left, and from then on.
  bool spend(std::size_t amount) {
    left_ = amount > left_ ? 0 : left_ - amount;
    return left_ > 0;
  }
  bool is_spent() const { return left_ == 0; }
  std::size_t left() const { return left_; }

 private:
  void allow(std::size_t text_bytes) {
    const std::size_t more = text_bytes == 0 ? kAny : kPerByte * text_bytes;
    left_ = more > kAny - left_ ? kAny : left_ + more;
  }

  static constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kFree = 64 * 1024 * 1024;  // for files of any size
  static constexpr std::size_t kPerByte = 32;

  std::size_t left_ = kFree;
};

// Which metrics are left out for their cost: each has a value and a row for every group, and a file
// of few bytes can have thousands of both. Metrics that the user named (--metrics, --sort-by,
// --where, --fail-on) and their inputs always stay. The others that are shown come first, in the
// order of the plan.
class CostlyMetrics {
 public:
  // REQUIRES: all outlive this.
  CostlyMetrics(const MetricPlan& plan, const Spec& spec, std::span<const Condition> of_groups);

  // Those that a run of so many groups alone has no room for, by metric.
  std::vector<bool> of_run(const RunGroups& groups, std::size_t text_bytes, std::size_t runs) const;
  // Those that all runs together have no room for; `text_bytes` are of each.
  std::vector<bool> of_all(const Grouping& grouping, std::span<const std::size_t> text_bytes) const;

 private:
  template <class Groups>
  std::vector<bool> beyond(Allowance room, const Groups& groups, std::size_t runs) const;
  void name(std::size_t metric);

  const MetricPlan* plan_;
  std::vector<bool> named_;
};

// Sets `left_out` of these metrics, and adds a note.
void leave_out(MetricPlan& plan, const std::vector<bool>& costly, std::size_t groups);

}  // namespace ctprof
