// The reduced values of one run: for each group and metric the state of the rule and its coverage.
//
// The object owns its data, so the snapshot can be freed after construction. Its size depends on
// the number of groups, not of threads. Results for parts of a host, or for groups that turn out to
// be equal, can be merged. Derived metrics are computed last, from the other values of the group.
//
// See also: rollup.hpp for several sides and their common groups.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rule_states.hpp"
#include "core/compare/grouping/row_grouper.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// The state of an input of a derived metric in one group. Only optional inputs ("name?") can be
// missing.
enum class InputState : std::uint8_t {
  Required,
  Impossible,  // Unsupported on this side, or not applicable to the group: no part of the value
  Missing,     // disabled, denied, or not in the file
  Present,
};

// The optional inputs that a derived value consists of. Values with different parts have different
// meanings, so their difference has no percentage.
struct DerivedParts {
  // By input of the expression. Empty if no input is optional, or the side lacks the group.
  std::span<const InputState> inputs{};

  bool has_parts() const { return !inputs.empty(); }
  std::size_t count_present() const { return count(InputState::Present); }
  std::size_t count_possible() const { return count_present() + count(InputState::Missing); }
  bool is_complete() const { return count(InputState::Missing) == 0; }

 private:
  std::size_t count(InputState state) const {
    return static_cast<std::size_t>(std::count(inputs.begin(), inputs.end(), state));
  }
};

// Returns whether both have the same parts. Also true if one of them has no parts.
inline bool have_same_parts(const DerivedParts& a, const DerivedParts& b) {
  return !a.has_parts() || !b.has_parts() ||
         std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                    [](InputState x, InputState y) {
                      return (x == InputState::Present) == (y == InputState::Present);
                    });
}

// The coverage of a group: the number of cells with a value, and of all cells to which the metric
// applies.
struct Coverage {
  std::uint64_t values = 0;
  std::uint64_t rows = 0;
  bool is_full() const { return values == rows; }
};

// The value of one metric in one group.
struct CellValue {
  const void* state = nullptr;  // of the rule; null if nothing was read or the metric is derived
  ctprof_number number{};       // no number if nothing was read, or the rule has no number
  Coverage coverage;
  DerivedParts derived_parts;  // for derived metrics with optional inputs

  bool has_value() const { return state || ctprof::has_value(number); }
};

// The busiest thread of a group: the thread with the largest reading, for sums and maxima. Of equal
// threads it is the first in the file, which is sorted by process and thread.
struct BusiestThread {
  std::uint64_t reading = 0;  // 0 if there is none
  std::uint64_t tid = 0;
  std::string_view comm;  // empty if it was not read
};

// The start times of a group's threads in clock ticks, and their read times.
struct GroupTimes {
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  double starts = 0, known_starts = 0;  // sum and number of known start times
  double newest = 0;
  double oldest = kNever;  // earliest known start; kNever if none is known
  double read_at = 0;      // sum of read times, in ns after the start of the capture
};

// The state of a group's gauge at the opening of the window, including rows that exited inside. Two
// states combine into the later one in this list.
enum class OpeningState : std::uint8_t {
  None,     // no window, or no row
  Started,  // all existing rows started inside the window
  Present,  // it was read at the opening; rows started later count from zero
  Unknown,  // it existed, but was not read or is not in the file
};

// The reason why a run has no value of a metric.
struct Absence {
  bool in_file = false;
  std::size_t rows = 0;
  ctprof_gap most_frequent_gap = CTPROF_VALUE;  // the gap of most cells
  bool is_unsupported = false;                  // no cell has a value, and some are Unsupported
  bool has_values = false;  // a cell has a value, perhaps of a row that --where excludes
};

class RunFigures {
 public:
  // Omitted metrics are not computed. REQUIRES: `rows` belongs to this snapshot; the plan outlives
  // this object; `nodes` refers to the snapshot's stacks if the plan has a metric of stacks
  // (has_stacks).
  RunFigures(const Snapshot& snapshot, const RowGroups& rows, const MetricPlan& plan,
             const std::vector<bool>& omitted_metrics, const RunStackNumbers& nodes);
  RunFigures(RunFigures&&) = default;
  RunFigures& operator=(RunFigures&&) = default;

  // Adds another part of the same host. REQUIRES: groups of the same RowGrouper, the same plan, and
  // neither object is finished.
  void merge(const RunFigures& other);
  // Merges one group into another; `from` is no longer used. REQUIRES: not finished.
  void merge_groups(std::uint32_t into, std::uint32_t from);
  // Computes the derived metrics. Called once, after merging.
  void finish();

  const RunGroups& groups() const { return groups_; }
  // REQUIRES: finished.
  CellValue read(std::uint32_t group, std::size_t metric) const;
  Coverage coverage(std::uint32_t group, std::size_t metric) const;
  DerivedParts derived_parts(std::uint32_t group, std::size_t metric) const;
  // Null if there is none.
  const BusiestThread* get_busiest_thread(std::uint32_t group, std::size_t metric) const;
  // Returns the value of a gauge at the end minus its value at the opening, over the rows of each
  // end; a sum over no rows is zero. For a derived gauge, evaluates it with its inputs at both
  // ends. Returns no value outside windows and where the change is unknown.
  Difference change(std::uint32_t group, std::size_t metric) const;
  // Returns the change of a map key that is a gauge with value `end_value`. A key missing at the
  // opening counts as zero.
  Difference change(std::uint32_t group, std::size_t map, std::string_view key,
                    const ctprof_number& end_value) const;
  OpeningState opening_state(std::uint32_t group, std::size_t metric) const;
  const GroupTimes& times(std::uint32_t group) const { return times_[group]; }
  // Returns whether the file contains the read time and the start time of each thread.
  bool has_read_times() const { return has_read_times_; }
  bool has_start_times() const { return has_start_times_; }
  // For a metric with a column: returns whether any cell has a value or is not applicable.
  bool is_measured(std::size_t metric) const { return metrics_[metric].is_measured; }
  // For any metric: returns whether the run measures it, or all inputs that it needs.
  bool records_metric(std::size_t metric) const;
  // Returns whether a group without rows counts as zero rather than as missing: the metric is a sum
  // and was measured.
  bool counts_absence_as_zero(std::size_t metric) const;
  // Returns how much of the run's window the metric covers, in ns; 0: the lifetime of the threads
  // in the window. For a derived metric, the coverage of its inputs if it is equal.
  double covered_ns(std::size_t metric) const;
  const Absence& absence(std::size_t metric) const { return metrics_[metric].absence; }
  // For a metric with a rule, returns its states by group; empty if there is no value.
  const RuleStates& states(std::size_t metric) const { return metrics_[metric].states; }

 private:
  struct Count {
    std::uint32_t values = 0, rows = 0;
  };
  // The values of a gauge at the opening of the window, by group.
  struct OpeningCells {
    RuleStates states;
    std::vector<OpeningState> opening_states;
  };
  // The values of one metric, by group.
  struct Cells {
    RuleStates states;                   // for a metric with a rule, if there is a value
    std::vector<double> values;          // for a derived metric; NaN if unavailable
    std::vector<InputState> inputs;      // its inputs, group by group, if any is optional
    std::vector<Count> counts;           // empty if all rows have a value, or none has
    bool has_none = false;               // no row has a value
    bool is_measured = false;            // any cell has a value or is not applicable
    std::vector<BusiestThread> busiest;  // if requested, and there is any
    OpeningCells opening;                // for a gauge, or a map with gauges, in a window
    Absence absence;
    double covered_ns = 0;
  };

  Cells reduce(const Snapshot& snapshot, const RowGroups& rows, const PlannedMetric& metric);
  static std::vector<Count> count_readings(std::span<const ctprof_gap> gaps,
                                           std::span<const std::uint32_t> groups,
                                           std::size_t count);
  ctprof_rows make_rows_for_rule(const Column& column, std::span<const std::uint32_t> groups,
                                 const PlannedMetric& metric, bool has_all_values);
  Cells derive(const PlannedMetric& metric) const;
  ctprof_number find_key_number(const void* state, std::size_t map, std::string_view key) const;
  OpeningState derived_opening_state(std::uint32_t group, const PlannedMetric& metric) const;
  Difference derived_change(std::uint32_t group, const PlannedMetric& metric,
                            const ctprof_number& end_value) const;
  InputState input_state(const std::optional<std::size_t>& input, const CellValue& reading) const;
  OpeningCells reduce_opening(const Snapshot& snapshot, const Column& column,
                              std::span<const std::uint32_t> groups, const PlannedMetric& metric);
  void add_opening_only(const Snapshot& snapshot, const RowGroups& rows);
  void add_opening_only(OpeningCells& found, const Snapshot& opening_only, const RowGroups& rows,
                        const PlannedMetric& metric);
  void mark_exited_as_unknown(const Snapshot& snapshot, const RowGroups& rows);
  void find_busiest(Cells& cells, const PlannedMetric& metric, const Snapshot& snapshot,
                    const Column& column, std::span<const std::uint32_t> groups);
  void collect_times(const Snapshot& snapshot, std::span<const std::uint32_t> groups);
  std::vector<std::uint32_t> add_groups_of(const RunFigures& other);
  void resize_cells(std::size_t metric);
  void fill_counts(std::size_t metric);
  void merge_opening(std::size_t metric, std::uint32_t into, const OpeningCells& other,
                     std::uint32_t from);
  void merge_cells(std::size_t metric, std::uint32_t into, const RunFigures& other,
                   std::uint32_t from);

  const MetricPlan* plan_;
  RunGroups groups_;
  std::unique_ptr<StateContent> content_;  // the data that the states point to
  std::vector<Cells> metrics_;             // by metric of the plan
  std::vector<GroupTimes> times_;          // by group
  bool has_read_times_ = false, has_start_times_ = false;
};

}  // namespace ctprof
