// Order: what a report shows first. It is total; what ties comes by group, then in the order of
// metrics.
//
// "Movers": a row's |difference| as a share of its metric's larger total, so that nanoseconds,
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
  // REQUIRES: all of these outlive this. `sides` is one under show, two under compare.
  Order(const Rollup& rollup, const Grouping& grouping, const MetricPlan& plan,
        std::span<const SortKey> keys);

  // `change` is the row's, where it is known; null: it is asked for when needed.
  RankedRow ranked(RowAt row, const Change* change) const;
  // In order; of more than `limit` rows (0: any number) the first.
  std::vector<RowAt> sorted(std::vector<RankedRow> rows, std::size_t limit) const;

  // What part of its metric's larger total the group has on this side, 0 to 1; 0 where there is no
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
  double movement(RowAt row, const Change* change) const;
  double movement_of_parts(RowAt row) const;
  // What a key makes of a row, the larger first; NaN for none.
  double rank(const Key& key, RowAt row, const Change* change) const;
  double metric_rank(std::size_t metric, RowAt row) const;
  bool before(const RankedRow& a, const RankedRow& b) const;

  const Rollup* rollup_;
  const Grouping* grouping_;
  const MetricPlan* plan_;
  Changes changes_;
  std::vector<Key> keys_;
  std::vector<double> totals_;           // by metric, of the larger side
  std::vector<PartTotals> part_totals_;  // by metric
};

}  // namespace ctprof
