// A rollup: for every group and metric, on each side, the value of the group and how much of the
// group it stands on.
//
// Aggregates stay as the rules' states; numbers, texts and JSON are made when asked for. It refers
// to the snapshots and rules that it was made from, and lives no longer.
//
// What is here:   aggregating, and what one cell says.
// What is not:    two sides against each other (compare/figures/change.hpp), order
// (compare/report/order.hpp).

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/states.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// How much of a group a value stands on: cells with a value, of the cells that the question has a
// meaning for.
struct Coverage {
  std::uint64_t values = 0;
  std::uint64_t rows = 0;
  bool full() const { return values == rows; }
};

// What one cell says.
struct Reading {
  const void* state = nullptr;  // the rule's; null where nothing was read, and of derived metrics
  ctprof_number number{};       // none where nothing was read or the rule has no number
  Coverage coverage;

  bool has_value() const { return state || ctprof::has_value(number); }
};

struct CellAt {
  std::size_t side;
  std::uint32_t group;
  std::size_t metric;  // in the plan
};

// One key of a map's value.
struct Part {
  std::string_view key;
  ctprof_number number;
  std::string_view unit;
};

class Rollup {
 public:
  // Aggregates all sides, one OS thread for each. REQUIRES: grouping and plan of these sides, which
  // outlive this.
  Rollup(std::span<const Snapshot* const> sides, const Grouping& grouping, const MetricPlan& plan);
  Rollup(Rollup&&) = default;

  Reading read(CellAt at) const;
  // For people: "1.234ms"; "-" where nothing was read.
  std::string text(CellAt at) const;
  // "null" where nothing was read.
  void append_json(std::string& out, CellAt at) const;
  // What the rule says beside the value, as an object; "null" where nothing was read or it says no
  // more.
  void append_extras(std::string& out, CellAt at) const;
  // The keys of a map's value, in order of their bytes.
  void parts(CellAt at, const std::function<void(const Part&)>& visit) const;
  bool has_parts(std::size_t metric) const;

 private:
  struct Count {
    std::uint32_t values = 0, rows = 0;
  };
  // One metric on one side.
  struct Cells {
    States states;               // of a metric with a rule and a column
    std::vector<double> values;  // of a derived one, NaN for none
    std::vector<Count> counts;   // by group; empty: every row has a value, or none has
    bool has_none = false;       // so that no row has one
  };

  void aggregate(const Snapshot& snapshot, std::size_t side);
  Cells reduce(const Snapshot& snapshot, std::size_t side, const PlannedMetric& metric) const;
  Cells derive(std::size_t side, const PlannedMetric& metric) const;

  const Grouping* grouping_;
  const MetricPlan* plan_;
  std::vector<std::vector<Cells>> sides_;
};

}  // namespace ctprof
