// A rollup: the figures of all sides by the groups that they have in common.
//
// Values are kept as the rules' states; numbers, texts and JSON are made on request. It owns the
// figures of the runs and needs no snapshot.
//
// Of a side of several runs a number is the median of the runs that have one (of an even number of
// them, the mean of the two in the middle), for maps key by key. A run without the group, or
// without rows of it that the metric is about, counts as zero in what is a sum; one in which it
// could not be read does not count, nor does a key that the run's map lacks. What a rule tells in
// words of its own, such as a range or what most are, is that of the rows of all runs together.
// Coverage is that of all runs.
//
// Windows have lengths of their own. Where several are told together, what counts up is told per
// second of the run's length, before any median.
//
// Not here: reducing a run (run_figures.hpp), comparing two sides (change.hpp), order
// (report/order.hpp).

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
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

// What a run has of a metric of stacks.
struct RunStacks {
  std::span<const ctprof_stack> stacks{};
  double scale = 1;  // makes a weight what is told of it
};

class Rollup {
 public:
  // REQUIRES: figures of the runs of the grouping, not finished; `sides` are theirs; grouping and
  // plan outlive this. `seconds`: how long each run's window is; empty: totals are told.
  Rollup(std::vector<RunFigures> runs, std::vector<SideRuns> sides, std::vector<double> seconds,
         const Grouping& grouping, const MetricPlan& plan);

  std::size_t sides() const { return sides_.size(); }
  // Whether what counts up is told per second.
  bool tells_rates() const { return !seconds_.empty(); }
  // How long a metric covers the window of the side's first run, in ns, which is the time that
  // rates are taken over; 0: as long as threads were there.
  double covered_ns(std::size_t side, std::size_t metric) const {
    return run(side).covered_ns(metric);
  }
  // Whether the metric is told per second. Of a map, this depends on the key.
  bool per_second(std::size_t metric) const;
  bool key_per_second(std::size_t metric, std::string_view key) const;
  // How many runs the side has, and how many of them have a value.
  std::size_t runs(std::size_t side) const { return sides_[side].count; }
  std::size_t runs_with(CellAt at) const;
  CellValue read(CellAt at) const;
  // The number of one run, of all runs: NaN for a gap. Zero of a sum where the run has nothing of
  // the group, and measures the metric.
  double figure_of_run(std::size_t run, std::uint32_t group, std::size_t metric) const;
  // The smallest difference that two such numbers can have: one count, byte, page or clock tick in
  // the shortest of these runs. 0 of derived metrics, where it is unknown.
  double resolution(std::size_t metric, std::span<const std::size_t> runs) const;
  // The same of each of the side's runs.
  std::vector<double> run_numbers(CellAt at) const;
  Coverage coverage(CellAt at) const;
  // For people: "1.234ms", or "-" if nothing was read.
  std::string text(CellAt at) const;
  // "null" if nothing was read.
  void append_json(std::string& out, CellAt at) const;
  // What the rule tells besides the value, as an object; "null" if there is nothing.
  void append_extras(std::string& out, CellAt at) const;
  // The keys of a map, in the order of their bytes.
  void parts(CellAt at, const std::function<void(const Part&)>& visit) const;
  // Of each run that counts the stacks of a metric that tells them (PlannedMetric::tells_stacks);
  // none of a run without the group. Valid as long as this.
  std::vector<RunStacks> stacks(CellAt at) const;
  // The same of one run, of all runs: none where they could not be read; no stack where the run has
  // nothing of the group, and measures the metric.
  std::optional<RunStacks> stacks_of_run(std::size_t run, std::uint32_t group,
                                         std::size_t metric) const;
  // Which parts a derived figure is made of.
  MadeOf made_of(CellAt at) const;
  // Null if there is none.
  const Busiest* busiest(CellAt at) const;
  // Of a gauge in a window: how much more it is than when that opened, and from what.
  Difference change(CellAt at) const;
  // The same of a map's key, which is `now`; none for a side of several runs.
  Difference change(CellAt at, std::string_view key, const ctprof_number& now) const;
  Beginning beginning(CellAt at) const;
  // Of a group's threads in the side's first run; null if that lacks the group.
  const GroupTimes* times(std::size_t side, std::uint32_t group) const;
  // The side's first run.
  const RunFigures& run(std::size_t side) const { return runs_[sides_[side].first]; }

 private:
  // The run's own number of the group; kNoGroup for none.
  std::uint32_t own(std::size_t run, CellAt at) const;
  bool lacks_rows(std::size_t run, CellAt at) const;
  bool has_nothing(std::size_t run, CellAt at) const;
  // Calls visit(run, own group) for those of the side's runs that have the group.
  template <class Visit>
  void for_each_run(CellAt at, Visit visit) const {
    const SideRuns& side = sides_[at.side];
    for (std::size_t run = side.first; run < side.first + side.count; ++run)
      if (const std::uint32_t group = own(run, at); group != kNoGroup) visit(run, group);
  }
  void unite_groups(std::size_t run);
  std::vector<States> pool(const SideRuns& side) const;
  bool is_plain(CellAt at) const;
  bool has_median(std::size_t metric) const;
  ctprof_number per_second(const ctprof_number& number, std::size_t run, std::size_t metric) const;
  Difference change_over_runs(CellAt at) const;
  template <class Number>
  std::vector<ctprof_number> numbers_of_runs(CellAt at, Number number) const;
  CellValue read_together(CellAt at) const;
  std::map<std::string_view, Part> parts_together(CellAt at) const;
  std::string text_of_parts(CellAt at) const;
  void append_json_of_parts(std::string& out, CellAt at) const;

  const Grouping* grouping_;
  const MetricPlan* plan_;
  std::vector<RunFigures> runs_;
  std::vector<SideRuns> sides_;
  std::vector<double> seconds_;              // by run
  std::vector<std::vector<States>> pooled_;  // by side and metric; of sides of several runs
};

// The middle of those that are numbers; none if none is.
ctprof_number median(std::vector<ctprof_number> numbers);

}  // namespace ctprof
