// The order in which a report shows rows. Ties are ordered by group, then by the order of metrics,
// so the order is total.
//
// "Movers" ranks a row by |difference| as a share of its metric's largest total, which makes
// nanoseconds, bytes and counts comparable. Rows without a number are last, in ascending and in
// descending order.

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

struct RowPosition {
  std::uint32_t group = 0;
  std::uint32_t metric = 0;
};

// A row and its rank by the first sort key, which is nearly always sufficient.
struct RankedRow {
  double rank = 0;
  RowPosition row;
};

class Order {
 public:
  // REQUIRES: all arguments outlive this object.
  Order(const Rollup& rollup, const Grouping& grouping, const MetricPlan& plan,
        std::span<const SortKey> keys);

  // `changes`: the changes of the row on each side relative to the first; if empty, they are
  // computed when needed. The rank uses the largest change.
  RankedRow rank_row(RowPosition row, std::span<const Change> changes = {}) const;
  // Sorts the rows and returns the first `limit`; 0 returns all.
  std::vector<RowPosition> sort_rows(std::vector<RankedRow> rows, std::size_t limit) const;

  // Returns the group's share of its metric's largest total on this side, 0 to 1; 0 if there is no
  // number or the metric is not additive.
  double share(CellPosition at) const;

 private:
  using KeyTotals = std::map<std::string, double, std::less<>>;
  struct Key {
    SortKey::Criterion by;
    double sign;         // -1 reverses the order
    std::size_t metric;  // the sort metric
  };
  void add_totals(std::size_t side, std::size_t metric);
  double relative_change(RowPosition row, const Change& change, std::size_t side) const;
  double relative_change_of_map(RowPosition row, std::size_t side) const;
  // Returns the rank of a row by one key, larger ranks first; NaN if it has none.
  double rank(const Key& key, RowPosition row, std::span<const Change> changes) const;
  double rank_of_change(SortKey::Criterion by, RowPosition row,
                        std::span<const Change> changes) const;
  std::vector<Change> changes_of(RowPosition row) const;
  double metric_rank(std::size_t metric, RowPosition row) const;
  bool comes_before(const RankedRow& a, const RankedRow& b) const;

  const Rollup* rollup_;
  const Grouping* grouping_;
  const MetricPlan* plan_;
  Changes changes_;
  std::vector<Key> keys_;
  std::vector<double> totals_;         // by metric, of the side with the largest total
  std::vector<KeyTotals> key_totals_;  // by metric
};

}  // namespace ctprof
