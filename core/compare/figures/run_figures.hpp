// What a run comes to: for each of its groups and each metric the rule's state and how much of the
// group it stands on.
//
// It owns all that it says, so the snapshot may go once it is made; it takes memory by groups, not
// by threads. The figures of parts of a host, or of several groups that turn out to be one, merge
// into those of the whole. Formulas are computed from the group's other figures at the end, so they
// follow.
//
// What is here:   reducing a snapshot, merging, and what one group's metric comes to.
// What is not:    several sides and their common groups (rollup.hpp).

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/figures/kept_content.hpp"
#include "core/compare/figures/made_of.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/states.hpp"
#include "core/compare/grouping/group_book.hpp"
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
  MadeOf made_of;  // of derived metrics with optional inputs

  bool has_value() const { return state || ctprof::has_value(number); }
};

// The busiest thread of a group: whose reading is the largest of those that a sum or a maximum is
// made of. Of equals the first in the file's order, by process and thread.
struct Busiest {
  std::uint64_t reading = 0;  // 0: there is none
  std::uint64_t tid = 0;
  std::string_view comm;  // empty where it was not read
};

// When a group's threads began and were read.
struct GroupTimes {
  double starts = 0, threads_started = 0;  // sum and number of starts that are known
  double newest = 0;
  double read_at = 0;  // sum, in ns after the capture's start
};

// Why a run has no value of a metric at all.
struct Absence {
  bool in_file = false;
  std::size_t rows = 0;
  ctprof_gap most = CTPROF_VALUE;  // what most cells are
  bool unsupported = false;        // no cell has a value, and some cannot have one here
};

class RunFigures {
 public:
  // REQUIRES: rows of this snapshot; a plan that outlives this.
  RunFigures(const Snapshot& snapshot, const RowGroups& rows, const MetricPlan& plan);
  RunFigures(RunFigures&&) = default;
  RunFigures& operator=(RunFigures&&) = default;

  // Adds another part of the same host. REQUIRES: groups of the same book, the same plan, and that
  // neither is finished.
  void merge(const RunFigures& other);
  // One of its groups takes in another, which is then of no account. REQUIRES: not finished.
  void unite(std::uint32_t into, std::uint32_t from);
  // After the last of these: what can be read from then on is settled.
  void finish();

  const RunGroups& groups() const { return groups_; }
  // REQUIRES: finished.
  Reading read(std::uint32_t group, std::size_t metric) const;
  Coverage coverage(std::uint32_t group, std::size_t metric) const;
  MadeOf made_of(std::uint32_t group, std::size_t metric) const;
  // Null where the metric has none.
  const Busiest* busiest(std::uint32_t group, std::size_t metric) const;
  const GroupTimes& times(std::uint32_t group) const { return times_[group]; }
  // Whether it is known when each thread was read, and when each began.
  bool knows_read_at() const { return knows_read_at_; }
  bool knows_starts() const { return knows_starts_; }
  const Absence& absence(std::size_t metric) const { return metrics_[metric].absence; }

 private:
  struct Count {
    std::uint32_t values = 0, rows = 0;
  };
  // One metric, by group.
  struct Cells {
    States states;                   // of a metric with a rule and a value
    std::vector<double> values;      // of a derived one, NaN for none
    std::vector<InputState> inputs;  // and where it has optional inputs, all of each group
    std::vector<Count> counts;       // empty: every row has a value, or none has
    bool has_none = false;           // so that no row has one
    std::vector<Busiest> busiest;    // where it was asked for and there is any
    Absence absence;
  };

  Cells reduce(const Snapshot& snapshot, const RowGroups& rows, const PlannedMetric& metric);
  Cells derive(const PlannedMetric& metric) const;
  ctprof_number number_of_key(std::uint32_t group, const PlannedMetric& metric) const;
  InputState input_state(const std::optional<std::size_t>& input, const Reading& reading) const;
  void find_busiest(Cells& cells, const PlannedMetric& metric, const Snapshot& snapshot,
                    const Column& column, std::span<const std::uint32_t> groups);
  void take_times(const Snapshot& snapshot, std::span<const std::uint32_t> groups);
  std::vector<std::uint32_t> take_groups(const RunFigures& other);
  void widen(std::size_t metric);
  void count_out(std::size_t metric);
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
