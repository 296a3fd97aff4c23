// What a run comes to: for each of its groups and each metric the rule's state, and how much of the
// group it covers.
//
// The figures own what they tell, so the snapshot can be freed once they are made. Their size
// depends on the number of groups, not of threads. Figures of parts of a host, or of groups that
// turn out to be one, can be merged. Derived metrics are computed last, from the group's other
// figures.
//
// Not here: several sides and their common groups (rollup.hpp).

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
#include "core/compare/grouping/group_book.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// An input of a derived metric, for one group. Only optional ones ("name?") can be missing.
enum class InputState : std::uint8_t {
  Required,
  Impossible,  // Unsupported on this side, or meaningless for the group: not a part of the figure
  Missing,     // switched off, denied, or not in the file
  Present,
};

// Which parts a derived figure is made of: those optional inputs that are there. Figures of
// different parts answer different questions, so there is a difference between them but no
// percentage.
struct MadeOf {
  // By input of the expression. Empty if no input is optional, or the side lacks the group.
  std::span<const InputState> inputs{};

  bool has_parts() const { return !inputs.empty(); }
  std::size_t present() const { return count(InputState::Present); }
  std::size_t possible() const { return present() + count(InputState::Missing); }
  bool whole() const { return count(InputState::Missing) == 0; }

 private:
  std::size_t count(InputState state) const {
    return static_cast<std::size_t>(std::count(inputs.begin(), inputs.end(), state));
  }
};

// Also true if one of them has no parts.
inline bool same_parts(const MadeOf& a, const MadeOf& b) {
  return !a.has_parts() || !b.has_parts() ||
         std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                    [](InputState x, InputState y) {
                      return (x == InputState::Present) == (y == InputState::Present);
                    });
}

// How much of a group a value covers: cells with a value, of all cells for which the metric has a
// meaning.
struct Coverage {
  std::uint64_t values = 0;
  std::uint64_t rows = 0;
  bool full() const { return values == rows; }
};

// The value of one group's metric.
struct CellValue {
  const void* state = nullptr;  // the rule's; null if nothing was read, or the metric is derived
  ctprof_number number{};       // none if nothing was read, or the rule has no number
  Coverage coverage;
  MadeOf made_of;  // of derived metrics with optional inputs

  bool has_value() const { return state || ctprof::has_value(number); }
};

// The busiest thread of a group: the one with the largest reading, for sums and maxima. Of equals
// the first in the file, by process and thread.
struct Busiest {
  std::uint64_t reading = 0;  // 0 if there is none
  std::uint64_t tid = 0;
  std::string_view comm;  // empty if it was not read
};

// When a group's threads started, in clock ticks, and were read.
struct GroupTimes {
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  double starts = 0, threads_started = 0;  // sum and number of known starts
  double newest = 0;
  double oldest = kNever;  // the first known start; kNever if none is known
  double read_at = 0;      // sum, in ns after the capture's start
};

// What is known of a group's gauge when the window opened, also of rows that exited inside. Of two,
// the later one is that of both.
enum class Beginning : std::uint8_t {
  None,     // no window, or no row
  Born,     // all that is there began inside
  There,    // it was read then; what began inside counts from zero
  Unknown,  // something was there, and was not read or is not in the file
};

// Why a run has no value of a metric at all.
struct Absence {
  bool in_file = false;
  std::size_t rows = 0;
  ctprof_gap most = CTPROF_VALUE;  // the gap of most cells
  bool unsupported = false;        // no cell has a value, and some are Unsupported
};

class RunFigures {
 public:
  // `left_out`: metrics that get no figures. REQUIRES: `rows` are of this snapshot, and the plan
  // outlives this; `nodes` are of its stacks if the plan has a metric of stacks (has_stacks).
  RunFigures(const Snapshot& snapshot, const RowGroups& rows, const MetricPlan& plan,
             const std::vector<bool>& left_out, const RunNodes& nodes);
  RunFigures(RunFigures&&) = default;
  RunFigures& operator=(RunFigures&&) = default;

  // Adds another part of the same host. REQUIRES: groups of the same book, the same plan, neither
  // finished.
  void merge(const RunFigures& other);
  // Merges one of its groups into another; the first is not used any more. REQUIRES: not finished.
  void unite(std::uint32_t into, std::uint32_t from);
  // Computes derived metrics. Called once, after merging.
  void finish();

  const RunGroups& groups() const { return groups_; }
  // REQUIRES: finished.
  CellValue read(std::uint32_t group, std::size_t metric) const;
  Coverage coverage(std::uint32_t group, std::size_t metric) const;
  MadeOf made_of(std::uint32_t group, std::size_t metric) const;
  // Null if there is none.
  const Busiest* busiest(std::uint32_t group, std::size_t metric) const;
  // Of a gauge, its value at the end less its value when the window opened, over the rows that each
  // end has; a sum of no rows is zero. The same of a derived level, by its inputs at both ends.
  // None outside of windows, and where it is not known.
  Difference change(std::uint32_t group, std::size_t metric) const;
  // Of a map's key that is a gauge and is `now`. A key that the map lacked then was zero.
  Difference change(std::uint32_t group, std::size_t map, std::string_view key,
                    const ctprof_number& now) const;
  Beginning beginning(std::uint32_t group, std::size_t metric) const;
  const GroupTimes& times(std::uint32_t group) const { return times_[group]; }
  // Whether the file says when each thread was read, and when it started.
  bool knows_read_at() const { return knows_read_at_; }
  bool knows_starts() const { return knows_starts_; }
  // Of a metric with a column: whether any cell has a value, or is one in which it has no meaning.
  bool is_measured(std::size_t metric) const { return metrics_[metric].is_measured; }
  // Of any metric: whether the run measures it, or all that it is computed from.
  bool measures(std::size_t metric) const;
  // Whether a group without rows has nothing of the metric, rather than no figure: the metric is a
  // sum, and was measured.
  bool counts_absence(std::size_t metric) const;
  // How long the metric covers the run's window, in ns; 0: as long as threads were there. Of a
  // derived metric what all of its inputs cover, if that is the same.
  double covered_ns(std::size_t metric) const;
  const Absence& absence(std::size_t metric) const { return metrics_[metric].absence; }
  // Of a metric with a rule, by group; empty if there is no value.
  const States& states(std::size_t metric) const { return metrics_[metric].states; }

 private:
  struct Count {
    std::uint32_t values = 0, rows = 0;
  };
  // A gauge when the window opened, by group.
  struct Opened {
    States states;
    std::vector<Beginning> beginnings;
  };
  // One metric, by group.
  struct Cells {
    States states;                   // of a metric with a rule, if there is a value
    std::vector<double> values;      // of a derived metric; NaN for none
    std::vector<InputState> inputs;  // and its inputs, group by group, if any is optional
    std::vector<Count> counts;       // empty if every row has a value, or none has
    bool has_none = false;           // no row has a value
    bool is_measured = false;        // any cell has a value, or no meaning
    std::vector<Busiest> busiest;    // if wanted, and there is any
    Opened opened;                   // of a gauge, or a map with gauges, in a window
    Absence absence;
    double covered_ns = 0;
  };

  Cells reduce(const Snapshot& snapshot, const RowGroups& rows, const PlannedMetric& metric);
  static std::vector<Count> count_readings(std::span<const ctprof_gap> gaps,
                                           std::span<const std::uint32_t> groups,
                                           std::size_t count);
  ctprof_rows readings_of(const Column& column, std::span<const std::uint32_t> groups,
                          const PlannedMetric& metric, bool all_there);
  Cells derive(const PlannedMetric& metric) const;
  ctprof_number number_in(const void* state, std::size_t map, std::string_view key) const;
  Beginning derived_beginning(std::uint32_t group, const PlannedMetric& metric) const;
  Difference derived_change(std::uint32_t group, const PlannedMetric& metric,
                            const ctprof_number& now) const;
  InputState input_state(const std::optional<std::size_t>& input, const CellValue& reading) const;
  Opened opened(const Snapshot& snapshot, const Column& column,
                std::span<const std::uint32_t> groups, const PlannedMetric& metric);
  void add_opening_only(const Snapshot& snapshot, const RowGroups& rows);
  void add_opening_only(Opened& found, const Snapshot& opening_only, const RowGroups& rows,
                        const PlannedMetric& metric);
  void add_exited_unknown(const Snapshot& snapshot, const RowGroups& rows);
  void find_busiest(Cells& cells, const PlannedMetric& metric, const Snapshot& snapshot,
                    const Column& column, std::span<const std::uint32_t> groups);
  void take_times(const Snapshot& snapshot, std::span<const std::uint32_t> groups);
  std::vector<std::uint32_t> take_groups(const RunFigures& other);
  void widen(std::size_t metric);
  void count_out(std::size_t metric);
  void merge_opened(std::size_t metric, std::uint32_t into, const Opened& other,
                    std::uint32_t from);
  void merge_cells(std::size_t metric, std::uint32_t into, const RunFigures& other,
                   std::uint32_t from);

  const MetricPlan* plan_;
  RunGroups groups_;
  std::unique_ptr<KeptContent> content_;  // what the states point to
  std::vector<Cells> metrics_;            // by metric of the plan
  std::vector<GroupTimes> times_;         // by group
  bool knows_read_at_ = false, knows_starts_ = false;
};

}  // namespace ctprof
