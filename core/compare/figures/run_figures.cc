#include "core/compare/figures/run_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/compare/figures/rule_states.hpp"
#include "core/registry/identity.hpp"
#include "core/window/accounting.hpp"
#include "core/window/happened.hpp"
#include "core/window/merge_ended.hpp"
#include "ctprof/gap.hpp"

namespace ctprof {
namespace {

using Groups = std::span<const std::uint32_t>;

ctprof_rows rows_of(const Column& column, Groups groups, bool all_there) {
  ctprof_rows rows{};
  rows.size = sizeof(ctprof_rows);
  rows.storage = static_cast<ctprof_storage>(column.def().storage);
  rows.count = column.rows();
  rows.groups = groups.data();
  rows.gaps = all_there ? nullptr : column.gaps().data();
  rows.values = column.values_at(0);
  return rows;
}

ctprof_rows rows_of_counts(const std::vector<std::uint64_t>& counts, Groups groups) {
  ctprof_rows rows{};
  rows.size = sizeof(ctprof_rows);
  rows.storage = CTPROF_U64;
  rows.count = counts.size();
  rows.groups = groups.data();
  rows.values = counts.data();
  return rows;
}

// The number of cells with each gap.
using Tally = std::array<std::size_t, kGapNames.size()>;

// Fast path: most columns have the same gap, or none, in all cells.
Tally tally_of(const Column& column) {
  Tally tally{};
  const auto gaps = column.gaps();
  if (!gaps.empty() &&
      std::all_of(gaps.begin(), gaps.end(), [&](ctprof_gap gap) { return gap == gaps.front(); })) {
    tally[std::min<std::size_t>(gaps.front(), tally.size() - 1)] = gaps.size();
    return tally;
  }
  for (const ctprof_gap gap : column.gaps()) ++tally[std::min<std::size_t>(gap, tally.size() - 1)];
  return tally;
}

Absence absence_of(const Tally& tally, std::size_t rows) {
  const auto most = std::max_element(tally.begin(), tally.end());
  const bool unsupported = tally[CTPROF_VALUE] == 0 && tally[CTPROF_UNSUPPORTED] > 0;
  return {true, rows, static_cast<ctprof_gap>(most - tally.begin()), unsupported};
}

// In a file of the reference, a limit that is null is either "no limit" or unknown. If a group has
// such a row, removes all its rows, so that the group has no value.
std::vector<std::uint32_t> without_doubtful_limits(const Column& column, Groups groups,
                                                   std::size_t count) {
  std::vector<bool> is_doubtful(count);
  for (std::size_t row = 0; row < groups.size(); ++row)
    if (groups[row] != kNoGroup && !column.has_value(row)) is_doubtful[groups[row]] = true;
  std::vector<std::uint32_t> kept(groups.begin(), groups.end());
  for (std::uint32_t& group : kept)
    if (group != kNoGroup && is_doubtful[group]) group = kNoGroup;
  return kept;
}

bool has_doubtful_limits(const Snapshot& snapshot, const Column& column) {
  return snapshot.foreign && column.def().newtype.starts_with("Limit") &&
         column.def().file_absent == "null";
}

// Null if there is none.
const Column* column_of(const Snapshot& snapshot, const PlannedMetric& metric) {
  if (metric.total_of.empty() || !snapshot.window)
    return snapshot.table(metric.entity)
        .find(metric.total_of.empty() ? metric.name : metric.total_of);
  const auto& totals = snapshot.window->totals[static_cast<std::size_t>(metric.entity)];
  const auto it = std::ranges::find_if(
      totals, [&](const Column& column) { return column.def().name == metric.total_of; });
  return it == totals.end() ? nullptr : &*it;
}

bool has_readings(Storage storage) {
  return storage == Storage::U64 || storage == Storage::I64 || storage == Storage::Stacks;
}

// Returns the value, or 0 if it is negative; for stacks, their total weight.
std::uint64_t above_zero(const Column& column, std::size_t row, const Pools& pools) {
  if (column.def().storage == Storage::U64) return column.u64()[row];
  if (column.def().storage == Storage::Stacks) return total_of(pools.stacks[column.ids()[row]]);
  const std::int64_t value = column.i64()[row];
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

}  // namespace

RunFigures::RunFigures(const Snapshot& snapshot, const RowGroups& rows, const MetricPlan& plan,
                       const std::vector<bool>& left_out, const RunNodes& nodes)
    : plan_(&plan), groups_(rows.groups), content_(std::make_unique<KeptContent>()) {
  content_->show(snapshot, nodes);
  for (std::size_t metric = 0; metric < plan.metrics.size(); ++metric)
    metrics_.push_back(left_out[metric] ? Cells() : reduce(snapshot, rows, plan.metrics[metric]));
  take_times(snapshot, rows.of_row[static_cast<std::size_t>(Entity::Thread)]);
  if (snapshot.window) add_opening_only(snapshot, rows);
  content_->let_go();
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
  Groups groups = rows.of_row[static_cast<std::size_t>(metric.entity)];
  const std::size_t count = groups_.count(metric.entity);
  if (metric.counts_rows) {
    cells.states = States(*metric.rule, count, metric.rule_owner);
    const std::vector<std::uint64_t> threads = threads_by_row(snapshot);
    cells.states.add(rows_of_counts(threads, groups));
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
  std::vector<std::uint32_t> certain;
  if (has_doubtful_limits(snapshot, *column))
    groups = certain = without_doubtful_limits(*column, groups, count);
  const Tally tally = tally_of(*column);
  cells.absence = absence_of(tally, gaps.size());
  const bool all_there = tally[CTPROF_VALUE] == gaps.size(), any_there = tally[CTPROF_VALUE] > 0;
  cells.has_none = !any_there && tally[CTPROF_NOT_APPLICABLE] == 0;
  cells.is_measured = !cells.has_none;
  if (cells.has_none) return cells;
  if (!all_there) cells.counts = count_readings(gaps, groups, count);
  if (!any_there) return cells;
  cells.states = States(*metric.rule, count, metric.rule_owner);
  cells.states.add(readings_of(*column, groups, metric, all_there));
  cells.opened = opened(snapshot, *column, groups, metric);
  if (plan_->tells_busiest) find_busiest(cells, metric, snapshot, *column, groups);
  return cells;
}

// Returns the column's rows in the form that the metric's rule reads. Their contents outlive the
// snapshot.
ctprof_rows RunFigures::readings_of(const Column& column, std::span<const std::uint32_t> groups,
                                    const PlannedMetric& metric, bool all_there) {
  ctprof_rows rows = rows_of(column, groups, all_there);
  content_->fill(rows, metric.rule_owner != nullptr);
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
    std::uint64_t& most = cells.busiest[groups[row]].reading;
    const std::uint64_t reading = above_zero(column, row, *snapshot.pools);
    if (reading <= most) continue;
    most = reading;
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

void RunFigures::take_times(const Snapshot& snapshot, std::span<const std::uint32_t> groups) {
  const Column* starts = snapshot.threads().find_u64(kStartTime);
  knows_starts_ = starts != nullptr;
  knows_read_at_ = snapshot.read_at.size() >= snapshot.threads().rows;
  times_.resize(groups_.keys.size());
  for (std::size_t row = 0; row < groups.size(); ++row) {
    if (groups[row] == kNoGroup) continue;
    GroupTimes& times = times_[groups[row]];
    if (starts && starts->has_value(row)) {
      const auto start = static_cast<double>(starts->u64()[row]);
      times.starts += start;
      ++times.threads_started;
      times.newest = std::max(times.newest, start);
      times.oldest = std::min(times.oldest, start);
    }
    if (knows_read_at_) times.read_at += static_cast<double>(snapshot.read_at[row]);
  }
}

void RunFigures::finish() {
  for (Cells& cells : metrics_)
    for (States* states : {&cells.states, &cells.opened.states})
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
    reading.number = number_in(read(group, map).state, map, *planned.key);
    return reading;
  }
  if (!cells.values.empty()) {
    if (!std::isnan(cells.values[group])) reading.number = number_of(cells.values[group]);
    reading.made_of = made_of(group, metric);
  } else if (!cells.states.empty() && reading.coverage.values > 0) {
    reading.state = cells.states[group];
    if (planned.rule->number)
      reading.number = call_rule(planned.rule_owner, "number",
                                 [&] { return planned.rule->number(reading.state); });
  }
  return reading;
}

// Returns no number if the map lacks the key. `state` belongs to the map's rule.
ctprof_number RunFigures::number_in(const void* state, std::size_t map,
                                    std::string_view key) const {
  if (!state) return no_number();
  struct Wanted {
    std::string_view key;
    ctprof_number found;
  } wanted{key, no_number()};
  const auto take = [](void* core, ctprof_text key, ctprof_number number, ctprof_text) {
    auto& one = *static_cast<Wanted*>(core);
    if (std::string_view(key.data, key.size) == one.key) one.found = number;
  };
  const ctprof_parts out{sizeof(ctprof_parts), 0, &wanted, take};
  const PlannedMetric& planned = plan_->metrics[map];
  call_rule(planned.rule_owner, "parts", [&] { planned.rule->parts(state, &out); });
  return wanted.found;
}

bool RunFigures::measures(std::size_t metric) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  if (!planned.expression && !planned.key) return is_measured(metric);
  bool any = planned.inputs.empty();
  for (std::size_t i = 0; i < planned.inputs.size(); ++i) {
    const bool is_optional = planned.expression && planned.expression->inputs()[i].optional;
    const bool has_input = planned.inputs[i] && measures(*planned.inputs[i]);
    if (!is_optional && !has_input) return false;
    any = any || has_input;
  }
  return any;
}

double RunFigures::covered_ns(std::size_t metric) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  if (!planned.expression && !planned.key) return metrics_[metric].covered_ns;
  std::optional<double> covered;
  for (const auto& input : planned.inputs) {
    const double its = input ? covered_ns(*input) : 0;
    if (covered.value_or(its) != its) return 0;
    covered = its;
  }
  return covered.value_or(0);
}

bool RunFigures::counts_absence(std::size_t metric) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  return (planned.adds_up || planned.is_sum) && measures(metric);
}

Coverage RunFigures::coverage(std::uint32_t group, std::size_t metric) const {
  // The coverage of a key is that of its map.
  if (plan_->metrics[metric].key) return coverage(group, *plan_->metrics[metric].inputs.front());
  const Cells& cells = metrics_[metric];
  if (!cells.counts.empty()) return {cells.counts[group].values, cells.counts[group].rows};
  const std::uint32_t rows = groups_.rows(plan_->metrics[metric].entity, group);
  return {cells.has_none ? 0 : rows, rows};
}

MadeOf RunFigures::made_of(std::uint32_t group, std::size_t metric) const {
  const auto& inputs = metrics_[metric].inputs;
  if (inputs.empty()) return {};
  const std::size_t of_each = plan_->metrics[metric].inputs.size();
  return {std::span(inputs).subspan(group * of_each, of_each)};
}

const Busiest* RunFigures::busiest(std::uint32_t group, std::size_t metric) const {
  const auto& busiest = metrics_[metric].busiest;
  return busiest.empty() || busiest[group].reading == 0 ? nullptr : &busiest[group];
}

}  // namespace ctprof
