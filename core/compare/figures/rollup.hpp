// A rollup: the figures of all sides by the groups that they have in common.
//
// Values are kept as the rules' states; numbers, texts and JSON are made on request. It owns the
// figures of the runs and needs no snapshot.
//
// Not here: reducing a run (run_figures.hpp), comparing two sides (change.hpp), order
// (report/order.hpp).

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/run_figures.hpp"
#include "core/compare/grouping/grouping.hpp"

namespace ctprof {

struct CellAt {
  std::size_t side;
  std::uint32_t group;
  std::size_t metric;  // in the plan
};

// One key of a map.
struct Part {
  std::string_view key;
  ctprof_number number;
  std::string_view unit;
};

class Rollup {
 public:
  // REQUIRES: one run's figures for each side of the grouping, not finished; grouping and plan
  // outlive this.
  Rollup(std::vector<RunFigures> sides, const Grouping& grouping, const MetricPlan& plan);

  std::size_t sides() const { return sides_.size(); }
  CellValue read(CellAt at) const;
  Coverage coverage(CellAt at) const;
  // For people: "1.234ms", or "-" if nothing was read.
  std::string text(CellAt at) const;
  // "null" if nothing was read.
  void append_json(std::string& out, CellAt at) const;
  // What the rule tells besides the value, as an object; "null" if there is nothing.
  void append_extras(std::string& out, CellAt at) const;
  // The keys of a map, in the order of their bytes.
  void parts(CellAt at, const std::function<void(const Part&)>& visit) const;
  // Which parts a derived figure is made of.
  MadeOf made_of(CellAt at) const;
  // Null if there is none.
  const Busiest* busiest(CellAt at) const;
  // Of a gauge in a window: how much more it is than when that opened, and from what.
  Difference change(CellAt at) const;
  // The same of a map's key, which is `now`.
  Difference change(CellAt at, std::string_view key, const ctprof_number& now) const;
  Beginning beginning(CellAt at) const;
  // Of a group's threads; null if the side lacks the group.
  const GroupTimes* times(std::size_t side, std::uint32_t group) const;
  const RunFigures& run(std::size_t side) const { return sides_[side]; }

 private:
  // The run's own number of the group; kNoGroup for none.
  std::uint32_t own(CellAt at) const;

  const Grouping* grouping_;
  const MetricPlan* plan_;
  std::vector<RunFigures> sides_;
};

}  // namespace ctprof
