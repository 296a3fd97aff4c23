// A rollup: the values of all sides, by their common groups.
//
// Values are stored as states of the rules; numbers, texts and JSON are produced on request. The
// rollup owns the results of the runs and needs no snapshot.
//
// For a side with several runs, a number is the median of the runs that have one; for an even
// number of runs, the mean of the middle two. The median of a map is computed for each key. In a
// sum, a run without the group, or without applicable rows in it, counts as zero. A run that could
// not read the metric is not counted, and neither is a key that the run's map lacks. A rule with
// its own output format, such as a range or the most frequent value, is applied to the rows of all
// runs together. Coverage is the sum over all runs.
//
// Windows have different lengths. If several windows are combined, counters are divided by the
// length of the run in seconds before the median is computed.
//
// See also: run_figures.hpp reduces a run, change.hpp compares two sides, report/order.hpp orders
// rows.

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

struct CellPosition {
  std::size_t side;
  std::uint32_t group;
  std::size_t metric;  // index in the plan
};

// One map key and its value.
struct MapEntry {
  std::string_view key;
  ctprof_number number;
  std::string_view unit;
};

// The stacks of one metric in one run.
struct RunStacks {
  std::span<const ctprof_stack> stacks{};
  double scale = 1;  // factor from a stack's weight to the shown value
};

class Rollup {
 public:
  // REQUIRES: `runs` has one element for each run of the grouping, and none is finished; `sides`
  // refers to them;
  // grouping and plan outlive this object. `seconds`: the length of each run's window; empty: show
  // totals.
  Rollup(std::vector<RunFigures> runs, std::vector<SideRuns> sides, std::vector<double> seconds,
         const Grouping& grouping, const MetricPlan& plan);

  std::size_t sides() const { return sides_.size(); }
  // Returns whether counters are shown per second.
  bool shows_rates() const { return !seconds_.empty(); }
  // Returns how much of the window of the side's first run the metric covers, in ns. Rates use this
  // time. 0: the lifetime of the threads in the window.
  double covered_ns(std::size_t side, std::size_t metric) const {
    return run(side).covered_ns(metric);
  }
  // Returns whether the metric is shown per second. For a map, this depends on the key.
  bool is_per_second(std::size_t metric) const;
  bool is_key_per_second(std::size_t metric, std::string_view key) const;
  // Returns the number of runs of the side, and the number of those with a value.
  std::size_t runs(std::size_t side) const { return sides_[side].count; }
  std::size_t runs_with(CellPosition at) const;
  CellValue read(CellPosition at) const;
  // Returns the number of one run, indexed over all runs; NaN for a gap. Zero for a sum if the run
  // lacks the group but measures the metric.
  double number_of_run(std::size_t run, std::uint32_t group, std::size_t metric) const;
  // Returns the smallest possible difference between two such numbers: one count, byte, page or
  // clock tick in the shortest of these runs. 0 for derived metrics, where it is unknown.
  double resolution(std::size_t metric, std::span<const std::size_t> runs) const;
  // Returns number_of_run() for each run of the side.
  std::vector<double> run_numbers(CellPosition at) const;
  Coverage coverage(CellPosition at) const;
  // Formats the value for people: "1.234ms", or "-" if nothing was read.
  std::string text(CellPosition at) const;
  // Appends "null" if nothing was read.
  void append_json(std::string& out, CellPosition at) const;
  // Appends the rule's additional output as an object; "null" if there is none.
  void append_extras(std::string& out, CellPosition at) const;
  // Visits the keys of a map, ordered by their bytes.
  void visit_map(CellPosition at, const std::function<void(const MapEntry&)>& visit) const;
  // Returns the stacks of each run of the side, for a metric with listable stacks
  // (PlannedMetric::has_listable_stacks). Runs without the group have no entry. The result is valid
  // as long as this object.
  std::vector<RunStacks> stacks(CellPosition at) const;
  // Returns the stacks of one run, indexed over all runs. Returns no value if they could not be
  // read, and no stacks if the run lacks the group but measures the metric.
  std::optional<RunStacks> stacks_of_run(std::size_t run, std::uint32_t group,
                                         std::size_t metric) const;
  // Returns which optional inputs a derived value consists of.
  DerivedParts derived_parts(CellPosition at) const;
  // Null if there is none.
  const BusiestThread* get_busiest_thread(CellPosition at) const;
  // Returns the change of a gauge since the opening of the window, and the opening value.
  Difference change(CellPosition at) const;
  // Returns the change of a map key whose value is `end_value`; no value for a side with several
  // runs.
  Difference change(CellPosition at, std::string_view key, const ctprof_number& end_value) const;
  OpeningState opening_state(CellPosition at) const;
  // Returns the times of a group's threads in the side's first run; null if that run lacks the
  // group.
  const GroupTimes* times(std::size_t side, std::uint32_t group) const;
  // Returns the side's first run.
  const RunFigures& run(std::size_t side) const { return runs_[sides_[side].first]; }

 private:
  // Returns the run's own number of the group; kNoGroup if it has none.
  std::uint32_t own_group(std::size_t run, CellPosition at) const;
  bool lacks_rows(std::size_t run, CellPosition at) const;
  bool counts_as_zero(std::size_t run, CellPosition at) const;
  // Calls visit(run, own group) for each run of the side that has the group.
  template <class Visit>
  void for_each_run(CellPosition at, Visit visit) const {
    const SideRuns& side = sides_[at.side];
    for (std::size_t run = side.first; run < side.first + side.count; ++run)
      if (const std::uint32_t group = own_group(run, at); group != kNoGroup) visit(run, group);
  }
  void merge_groups(std::size_t run);
  std::vector<RuleStates> merge_states_of_runs(const SideRuns& side) const;
  bool needs_no_reduction(CellPosition at) const;
  bool has_median(std::size_t metric) const;
  ctprof_number to_rate(const ctprof_number& number, std::size_t run, std::size_t metric) const;
  Difference change_over_runs(CellPosition at) const;
  template <class Number>
  std::vector<ctprof_number> collect_run_numbers(CellPosition at, Number number) const;
  CellValue read_over_runs(CellPosition at) const;
  std::map<std::string_view, MapEntry> parts_over_runs(CellPosition at) const;
  std::string text_of_map(CellPosition at) const;
  void append_json_of_map(std::string& out, CellPosition at) const;

  const Grouping* grouping_;
  const MetricPlan* plan_;
  std::vector<RunFigures> runs_;
  std::vector<SideRuns> sides_;
  std::vector<double> seconds_;  // by run
  // By side and metric; only for sides with several runs.
  std::vector<std::vector<RuleStates>> merged_states_;
};

// Returns the median of the finite numbers; no number if there are none.
ctprof_number median(std::vector<ctprof_number> numbers);

}  // namespace ctprof
