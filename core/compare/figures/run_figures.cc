#include "core/compare/figures/run_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/compare/figures/rule_states.hpp"
#include "core/registry/identity.hpp"
#include "core/window/accounting.hpp"
#include "core/window/differences.hpp"
#include "core/window/merge_exited_threads.hpp"
#include "ctprof/gap.hpp"

namespace ctprof {
namespace {

using Groups = std::span<const std::uint32_t>;

ctprof_rows make_rule_rows(const Column& column, Groups groups, bool has_all_values) {
  ctprof_rows rows{};
  rows.size = sizeof(ctprof_rows);
  rows.storage = static_cast<ctprof_storage>(column.def().storage);
  rows.count = column.rows();
  rows.groups = groups.data();
  rows.gaps = has_all_values ? nullptr : column.gaps().data();
  rows.values = column.values_at(0);
  return rows;
}

ctprof_rows make_count_rows(const std::vector<std::uint64_t>& counts, Groups groups) {
  ctprof_rows rows{};
  rows.size = sizeof(ctprof_rows);
  rows.storage = CTPROF_U64;
  rows.count = counts.size();
  rows.groups = groups.data();
  rows.values = counts.data();
  return rows;
}

// The number of cells with each gap.
using CellsByGap = std::array<std::size_t, kGapNames.size()>;

// Fast path: most columns have the same gap, or none, in all cells.
CellsByGap count_cells_by_gap(const Column& column) {
  CellsByGap tally{};
  const auto gaps = column.gaps();
  if (!gaps.empty() &&
      std::all_of(gaps.begin(), gaps.end(), [&](ctprof_gap gap) { return gap == gaps.front(); })) {
    tally[std::min<std::size_t>(gaps.front(), tally.size() - 1)] = gaps.size();
    return tally;
  }
  for (const ctprof_gap gap : column.gaps()) ++tally[std::min<std::size_t>(gap, tally.size() - 1)];
  return tally;
}

Absence describe_absence(const CellsByGap& tally, std::size_t rows) {
  const auto most_frequent = std::max_element(tally.begin(), tally.end());
  const bool unsupported = tally[CTPROF_VALUE] == 0 && tally[CTPROF_UNSUPPORTED] > 0;
  return {true, rows, static_cast<ctprof_gap>(most_frequent - tally.begin()), unsupported,
          tally[CTPROF_VALUE] > 0};
}

// In a file of the reference, a limit that is null is either "no limit" or unknown. If a group has
// such a row, removes all its rows, so that the group has no value.
std::vector<std::uint32_t> remove_doubtful_limits(const Column& column, Groups groups,
                                                  std::size_t count) {
  std::vector<bool> is_doubtful(count);
  for (std::size_t row = 0; row < groups.size(); ++row)
    if (groups[row] != kNoGroup && !column.has_value(row)) is_doubtful[groups[row]] = true;
  std::vector<std::uint32_t> certain_groups(groups.begin(), groups.end());
  for (std::uint32_t& group : certain_groups)
    if (group != kNoGroup && is_doubtful[group]) group = kNoGroup;
  return certain_groups;
}

bool has_doubtful_limits(const Snapshot& snapshot, const Column& column) {
  return snapshot.is_foreign && column.def().newtype.starts_with("Limit") &&
         column.def().file_absent == "null";
}

// Null if there is none.
const Column* column_of(const Snapshot& snapshot, const PlannedMetric& metric) {
  if (metric.counter_of_total.empty() || !snapshot.window)
    return snapshot.table(metric.entity)
        .find(metric.counter_of_total.empty() ? metric.name : metric.counter_of_total);
  const auto& totals = snapshot.window->totals[static_cast<std::size_t>(metric.entity)];
  const auto it = std::ranges::find_if(
      totals, [&](const Column& column) { return column.def().name == metric.counter_of_total; });
  return it == totals.end() ? nullptr : &*it;
}

bool has_readings(Storage storage) {
  return storage == Storage::U64 || storage == Storage::I64 || storage == Storage::Stacks;
}

// Returns the value, or 0 if it is negative; for stacks, their total weight.
std::uint64_t non_negative_value(const Column& column, std::size_t row, const Pools& pools) {
  if (column.def().storage == Storage::U64) return column.u64()[row];
  if (column.def().storage == Storage::Stacks) return total_weight(pools.stacks[column.ids()[row]]);
  const std::int64_t value = column.i64()[row];
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

}  // namespace

RunFigures::RunFigures(const Snapshot& snapshot, const RowGroups& rows, const MetricPlan& plan,
                       const std::vector<bool>& omitted_metrics, const RunStackNumbers& nodes)
    : plan_(&plan), groups_(rows.groups), content_(std::make_unique<StateContent>()) {
  content_->set_snapshot(snapshot, nodes);
  for (std::size_t metric = 0; metric < plan.metrics.size(); ++metric)
    metrics_.push_back(omitted_metrics[metric] ? Cells()
                                               : reduce(snapshot, rows, plan.metrics[metric]));
  collect_times(snapshot, rows.group_of_row[static_cast<std::size_t>(Entity::Thread)]);
  if (snapshot.window) add_opening_only(snapshot, rows);
  content_->release_snapshot();
}

// Returns for each group the number of rows that can have a value, and of those that have one.
std::vector<RunFigures::Count> RunFigures::count_readings(std::span<const ctprof_gap> gaps,
                                                          std::span<const std::uint32_t> groups,
                                                          std::size_t count) {
  std::vector<Count> counts(count);
  for (std::size_t row = 0; row < groups.size(); ++row) {
    if (groups[row] == kNoGroup || gaps[row] == CTPROF_NOT_APPLICABLE) continue;
    ++counts[groups[row]].rows;
    if (gaps[row] == CTPROF_VALUE) ++counts[groups[row]].values;
  }
  return counts;
}

RunFigures::Cells RunFigures::reduce(const Snapshot& snapshot, const RowGroups& rows,
                                     const PlannedMetric& metric) {
  Cells cells;
  if (metric.expression || metric.key) return cells;
  Groups groups = rows.group_of_row[static_cast<std::size_t>(metric.entity)];
  const std::size_t count = groups_.count(metric.entity);
  if (metric.counts_rows) {
    cells.states = RuleStates(*metric.rule, count, metric.rule_owner);
    const std::vector<std::uint64_t> threads = threads_by_row(snapshot);
    cells.states.add(make_count_rows(threads, groups));
    cells.is_measured = true;
    return cells;
  }
  const Column* column = column_of(snapshot, metric);
  if (!column) {
    cells.has_none = true;
    return cells;
  }
  if (snapshot.window)
    cells.covered_ns = static_cast<double>(ctprof::covered_ns(snapshot, *column).value_or(0));
  const auto gaps = column->gaps();
  std::vector<std::uint32_t> certain_groups;
  if (has_doubtful_limits(snapshot, *column))
    groups = certain_groups = remove_doubtful_limits(*column, groups, count);
  const CellsByGap tally = count_cells_by_gap(*column);
  cells.absence = describe_absence(tally, gaps.size());
  const bool has_all_values = tally[CTPROF_VALUE] == gaps.size(),
             has_any_value = tally[CTPROF_VALUE] > 0;
  cells.has_none = !has_any_value && tally[CTPROF_NOT_APPLICABLE] == 0;
  cells.is_measured = !cells.has_none;
  if (cells.has_none) return cells;
  if (!has_all_values) cells.counts = count_readings(gaps, groups, count);
  if (!has_any_value) return cells;
  cells.states = RuleStates(*metric.rule, count, metric.rule_owner);
  cells.states.add(make_rows_for_rule(*column, groups, metric, has_all_values));
  cells.opening = reduce_opening(snapshot, *column, groups, metric);
  if (plan_->finds_busiest_threads) find_busiest(cells, metric, snapshot, *column, groups);
  return cells;
}

// Returns the column's rows in the form that the metric's rule reads. Their contents outlive the
// snapshot.
ctprof_rows RunFigures::make_rows_for_rule(const Column& column,
                                           std::span<const std::uint32_t> groups,
                                           const PlannedMetric& metric, bool has_all_values) {
  ctprof_rows rows = make_rule_rows(column, groups, has_all_values);
  content_->set_accessors(rows, metric.rule_owner != nullptr);
  const std::string keys = column.def().map_keys + '\0';
  if (keys.size() > 1) rows.map_keys = content_->copy(keys).data();
  return rows;
}

void RunFigures::find_busiest(Cells& cells, const PlannedMetric& metric, const Snapshot& snapshot,
                              const Column& column, std::span<const std::uint32_t> groups) {
  if (metric.entity != Entity::Thread || (!metric.is_sum && !metric.is_maximum) ||
      !has_readings(column.def().storage))
    return;
  cells.busiest.resize(groups_.keys.size());
  std::vector<std::uint32_t> found(cells.busiest.size(), kNoGroup);
  for (std::uint32_t row = 0; row < groups.size(); ++row) {
    if (groups[row] == kNoGroup || !column.has_value(row)) continue;
    std::uint64_t& largest_reading = cells.busiest[groups[row]].reading;
    const std::uint64_t reading = non_negative_value(column, row, *snapshot.pools);
    if (reading <= largest_reading) continue;
    largest_reading = reading;
    found[groups[row]] = row;
  }
  const Column *tids = snapshot.threads().find_u64(kTid), *comms = snapshot.threads().find(kComm);
  if (comms && comms->def().storage != Storage::String) comms = nullptr;
  for (std::size_t group = 0; group < found.size(); ++group) {
    const std::uint32_t row = found[group];
    if (row == kNoGroup) continue;
    if (tids) cells.busiest[group].tid = tids->u64()[row];
    if (comms && comms->has_value(row))
      cells.busiest[group].comm = content_->text(comms->ids()[row]);
  }
}

void RunFigures::collect_times(const Snapshot& snapshot, std::span<const std::uint32_t> groups) {
  const Column* starts = snapshot.threads().find_u64(kStartTime);
  has_start_times_ = starts != nullptr;
  has_read_times_ = snapshot.read_at.size() >= snapshot.threads().rows;
  times_.resize(groups_.keys.size());
  for (std::size_t row = 0; row < groups.size(); ++row) {
    if (groups[row] == kNoGroup) continue;
    GroupTimes& times = times_[groups[row]];
    if (starts && starts->has_value(row)) {
      const auto start = static_cast<double>(starts->u64()[row]);
      times.starts += start;
      ++times.known_starts;
      times.newest = std::max(times.newest, start);
      times.oldest = std::min(times.oldest, start);
    }
    if (has_read_times_) times.read_at += static_cast<double>(snapshot.read_at[row]);
  }
}

void RunFigures::finish() {
  for (Cells& cells : metrics_)
    for (RuleStates* states : {&cells.states, &cells.opening.states})
      if (!states->empty()) states->finish();
  for (std::size_t i = 0; i < metrics_.size(); ++i)
    if (plan_->metrics[i].expression) metrics_[i] = derive(plan_->metrics[i]);
}

CellValue RunFigures::read(std::uint32_t group, std::size_t metric) const {
  const Cells& cells = metrics_[metric];
  const PlannedMetric& planned = plan_->metrics[metric];
  CellValue reading;
  reading.coverage = coverage(group, metric);
  if (planned.key) {
    const std::size_t map = *planned.inputs.front();
    reading.number = find_key_number(read(group, map).state, map, *planned.key);
    return reading;
  }
  if (!cells.values.empty()) {
    if (!std::isnan(cells.values[group])) reading.number = make_number(cells.values[group]);
    reading.derived_parts = derived_parts(group, metric);
  } else if (!cells.states.empty() && reading.coverage.values > 0) {
    reading.state = cells.states[group];
    if (planned.rule->number)
      reading.number = call_rule(planned.rule_owner, "number",
                                 [&] { return planned.rule->number(reading.state); });
  }
  return reading;
}

// Returns no number if the map lacks the key. `state` belongs to the map's rule.
ctprof_number RunFigures::find_key_number(const void* state, std::size_t map,
                                          std::string_view key) const {
  if (!state) return no_number();
  struct Search {
    std::string_view key;
    ctprof_number found;
  } search{key, no_number()};
  const auto take = [](void* core, ctprof_text key, ctprof_number number, ctprof_text) {
    auto& one = *static_cast<Search*>(core);
    if (std::string_view(key.data, key.size) == one.key) one.found = number;
  };
  const ctprof_parts out{sizeof(ctprof_parts), 0, &search, take};
  const PlannedMetric& planned = plan_->metrics[map];
  call_rule(planned.rule_owner, "parts", [&] { planned.rule->parts(state, &out); });
  return search.found;
}

bool RunFigures::records_metric(std::size_t metric) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  if (!planned.expression && !planned.key) return is_measured(metric);
  bool has_any_input = planned.inputs.empty();
  for (std::size_t i = 0; i < planned.inputs.size(); ++i) {
    const bool is_optional = planned.expression && planned.expression->inputs()[i].optional;
    const bool has_input = planned.inputs[i] && records_metric(*planned.inputs[i]);
    if (!is_optional && !has_input) return false;
    has_any_input = has_any_input || has_input;
  }
  return has_any_input;
}

double RunFigures::covered_ns(std::size_t metric) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  if (!planned.expression && !planned.key) return metrics_[metric].covered_ns;
  std::optional<double> covered;
  for (const auto& input : planned.inputs) {
    const double input_covered_ns = input ? covered_ns(*input) : 0;
    if (covered.value_or(input_covered_ns) != input_covered_ns) return 0;
    covered = input_covered_ns;
  }
  return covered.value_or(0);
}

bool RunFigures::counts_absence_as_zero(std::size_t metric) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  return (planned.is_cumulative || planned.is_sum) && records_metric(metric);
}

Coverage RunFigures::coverage(std::uint32_t group, std::size_t metric) const {
  // The coverage of a key is that of its map.
  if (plan_->metrics[metric].key) return coverage(group, *plan_->metrics[metric].inputs.front());
  const Cells& cells = metrics_[metric];
  if (!cells.counts.empty()) return {cells.counts[group].values, cells.counts[group].rows};
  const std::uint32_t rows = groups_.rows(plan_->metrics[metric].entity, group);
  return {cells.has_none ? 0 : rows, rows};
}

DerivedParts RunFigures::derived_parts(std::uint32_t group, std::size_t metric) const {
  const auto& inputs = metrics_[metric].inputs;
  if (inputs.empty()) return {};
  const std::size_t inputs_per_group = plan_->metrics[metric].inputs.size();
  return {std::span(inputs).subspan(group * inputs_per_group, inputs_per_group)};
}

const BusiestThread* RunFigures::get_busiest_thread(std::uint32_t group, std::size_t metric) const {
  const auto& busiest = metrics_[metric].busiest;
  return busiest.empty() || busiest[group].reading == 0 ? nullptr : &busiest[group];
}

}  // namespace ctprof
