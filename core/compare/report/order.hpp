// Order: what a report shows first. It is total; what ties comes by group, then in the order of
// metrics.
//
// "Movers": a row's |difference| as a share of its metric's largest total, so that nanoseconds,
// bytes and counts rank together. Rows without a number come last, whichever way the order goes.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/compare/figures/change.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/grouping/grouping.hpp"

namespace ctprof {

struct RowAt {
  std::uint32_t group = 0;
  std::uint32_t metric = 0;
};

// A row with what the first key makes of it, which decides nearly always.
struct RankedRow {
  double rank = 0;
  RowAt row;
};

class Order {
 public:
  // REQUIRES: all of these outlive this.
  Order(const Rollup& rollup, const Grouping& grouping, const MetricPlan& plan,
        std::span<const SortKey> keys);

  // `changes` are the row's, of each side against the first, where they are known; none: they are
  // asked for when needed. What moved furthest of them decides.
  RankedRow ranked(RowAt row, std::span<const Change> changes = {}) const;
  // In order; of more than `limit` rows (0: any number) the first.
  std::vector<RowAt> sorted(std::vector<RankedRow> rows, std::size_t limit) const;

  // What part of its metric's largest total the group has on this side, 0 to 1; 0 where there is no
  // number, or none that adds up.
  double share(CellAt at) const;

 private:
  using PartTotals = std::map<std::string, double, std::less<>>;
  struct Key {
    SortKey::By by;
    double sign;         // what turns the order round
    std::size_t metric;  // to sort by
  };
  void add_totals(std::size_t side, std::size_t metric);
  double movement(RowAt row, const Change& change, std::size_t side) const;
  double movement_of_parts(RowAt row, std::size_t side) const;
  // What a key makes of a row, the larger first; NaN for none.
  double rank(const Key& key, RowAt row, std::span<const Change> changes) const;
  double rank_of_change(SortKey::By by, RowAt row, std::span<const Change> changes) const;
  std::vector<Change> changes_of(RowAt row) const;
  double metric_rank(std::size_t metric, RowAt row) const;
  bool before(const RankedRow& a, const RankedRow& b) const;

  const Rollup* rollup_;
  const Grouping* grouping_;
  const MetricPlan* plan_;
  Changes changes_;
  std::vector<Key> keys_;
  std::vector<double> totals_;           // by metric, of the largest side
  std::vector<PartTotals> part_totals_;  // by metric
};

}  // namespace ctprof
