#include "core/compare/figures/rollup.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/json_text.hpp"
#include "core/base/ladder.hpp"
#include "core/base/workers.hpp"

namespace ctprof {
namespace {

const Pools& pools_in(const void* core) { return *static_cast<const Pools*>(core); }

// What ids in a column stand for, as rules ask for it.
ctprof_text text_of(const void* core, std::uint32_t id) {
  const std::string_view text = pools_in(core).texts[id];
  return {text.data(), text.size()};
}
const std::uint64_t* bits_of(const void* core, std::uint32_t id, std::size_t* words) {
  const auto set = pools_in(core).words[id];
  *words = set.size();
  return set.data();
}
const ctprof_entry* map_of(const void* core, std::uint32_t id, std::size_t* entries) {
  const auto map = pools_in(core).maps[id];
  *entries = map.size();
  return map.data();
}

ctprof_rows rows_of(const Column& column, const std::vector<std::uint32_t>& groups,
                    const Pools& pools, bool all_there) {
  return {.size = sizeof(ctprof_rows),
          .storage = static_cast<ctprof_storage>(column.def().storage),
          .count = column.rows(),
          .first_row = 0,
          .groups = groups.data(),
          .gaps = all_there ? nullptr : column.gaps().data(),
          .values = column.values_at(0),
          .core = &pools,
          .text = text_of,
          .bits = bits_of,
          .map = map_of,
          .map_keys = column.def().map_keys.c_str()};
}

// Rows that count one each.
ctprof_rows rows_of_ones(const std::vector<std::uint64_t>& ones,
                         const std::vector<std::uint32_t>& groups) {
  ctprof_rows rows{};
  rows.size = sizeof(ctprof_rows);
  rows.storage = CTPROF_U64;
  rows.count = ones.size();
  rows.groups = groups.data();
  rows.values = ones.data();
  return rows;
}

void append(void* out, const char* data, std::size_t size) {
  static_cast<std::string*>(out)->append(data, size);
}
ctprof_sink sink_into(std::string& out) { return {sizeof(ctprof_sink), 0, &out, append}; }

void hand_part(void* visit, ctprof_text key, ctprof_number number, ctprof_text unit) {
  (*static_cast<const std::function<void(const Part&)>*>(visit))(
      {{key.data, key.size}, number, {unit.data, unit.size}});
}

}  // namespace

Rollup::Rollup(std::span<const Snapshot* const> sides, const Grouping& grouping,
               const MetricPlan& plan)
    : grouping_(&grouping), plan_(&plan), sides_(sides.size()) {
  share(static_cast<unsigned>(sides.size()), sides.size(),
        [&](unsigned, std::size_t side) { aggregate(*sides[side], side); });
}

void Rollup::aggregate(const Snapshot& snapshot, std::size_t side) {
  sides_[side].resize(plan_->metrics.size());
  const auto each = [&](bool derived, auto make) {
    for (std::size_t i = 0; i < plan_->metrics.size(); ++i)
      if (plan_->metrics[i].expression.has_value() == derived)
        sides_[side][i] = make(plan_->metrics[i]);
  };
  each(false, [&](const PlannedMetric& metric) { return reduce(snapshot, side, metric); });
  each(true, [&](const PlannedMetric& metric) { return derive(side, metric); });
}

Rollup::Cells Rollup::reduce(const Snapshot& snapshot, std::size_t side,
                             const PlannedMetric& metric) const {
  const auto entity = static_cast<std::size_t>(metric.entity);
  const auto& groups = grouping_->sides[side].of_row[entity];
  const std::size_t count = grouping_->count(metric.entity);
  Cells cells;
  if (metric.left_out) return cells;
  if (metric.counts_rows) {
    cells.states = States(*metric.rule, count, metric.rule_owner);
    const std::vector<std::uint64_t> ones(groups.size(), 1);
    cells.states.add(rows_of_ones(ones, groups));
    cells.states.finish();
    return cells;
  }
  const Column* column = metric.columns[side];
  const auto gaps = column ? column->gaps() : std::span<const ctprof_gap>{};
  const bool all_there = column && std::all_of(gaps.begin(), gaps.end(),
                                               [](ctprof_gap gap) { return gap == CTPROF_VALUE; });
  const auto is = [&](ctprof_gap wanted) {
    return std::find(gaps.begin(), gaps.end(), wanted) != gaps.end();
  };
  const bool any_there = column && is(CTPROF_VALUE);
  cells.has_none = !any_there && !is(CTPROF_NOT_APPLICABLE);
  if (cells.has_none) return cells;
  if (!all_there) {
    cells.counts.resize(count);
    for (std::size_t row = 0; row < groups.size(); ++row) {
      if (groups[row] == kNoGroup || (column && gaps[row] == CTPROF_NOT_APPLICABLE)) continue;
      ++cells.counts[groups[row]].rows;
      if (column && gaps[row] == CTPROF_VALUE) ++cells.counts[groups[row]].values;
    }
  }
  if (!any_there) return cells;
  cells.states = States(*metric.rule, count, metric.rule_owner);
  cells.states.add(rows_of(*column, groups, *snapshot.pools, all_there));
  cells.states.finish();
  return cells;
}

// From the aggregates of the group, not from its threads one by one. It stands on the readings of
// all its inputs.
Rollup::Cells Rollup::derive(std::size_t side, const PlannedMetric& metric) const {
  Cells cells;
  if (metric.left_out) return cells;
  const std::size_t groups = grouping_->count(metric.entity);
  std::vector<double> inputs(metric.inputs.size());
  cells.values.resize(groups);
  cells.counts.resize(groups);
  for (std::uint32_t group = 0; group < groups; ++group) {
    Count& count = cells.counts[group];
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto input = metric.inputs[i];
      Reading reading;
      reading.coverage.rows = grouping_->sides[side].rows(metric.entity, group);
      if (input) reading = read({side, group, *input});
      count.values += static_cast<std::uint32_t>(reading.coverage.values);
      count.rows += static_cast<std::uint32_t>(reading.coverage.rows);
      inputs[i] = as_double(reading.number);
    }
    cells.values[group] = metric.expression->evaluate(inputs);
  }
  return cells;
}

Reading Rollup::read(CellAt at) const {
  const Cells& cells = sides_[at.side][at.metric];
  Reading reading;
  if (cells.counts.empty()) {
    const std::uint32_t rows =
        grouping_->sides[at.side].rows(plan_->metrics[at.metric].entity, at.group);
    reading.coverage = {cells.has_none ? 0 : rows, rows};
  } else {
    reading.coverage = {cells.counts[at.group].values, cells.counts[at.group].rows};
  }
  if (!cells.values.empty()) {
    if (!std::isnan(cells.values[at.group])) reading.number = number_of(cells.values[at.group]);
  } else if (!cells.states.empty() && reading.coverage.values > 0) {
    const ctprof_rule* rule = plan_->metrics[at.metric].rule;
    reading.state = cells.states[at.group];
    if (rule->number)
      reading.number = call_rule(plan_->metrics[at.metric].rule_owner, "number",
                                 [&] { return rule->number(reading.state); });
  }
  return reading;
}

std::string Rollup::text(CellAt at) const {
  const PlannedMetric& metric = plan_->metrics[at.metric];
  const Reading reading = read(at);
  if (!reading.state || !metric.rule->text) return scaled(reading.number, metric.unit);
  std::string out;
  const ctprof_sink sink = sink_into(out);
  call_rule(metric.rule_owner, "text",
            [&] { metric.rule->text(reading.state, metric.unit.c_str(), &sink); });
  return out;
}

void Rollup::append_json(std::string& out, CellAt at) const {
  const PlannedMetric& metric = plan_->metrics[at.metric];
  const Reading reading = read(at);
  if (!reading.state || !metric.rule->json) return ctprof::append_json(out, reading.number);
  const ctprof_sink sink = sink_into(out);
  call_rule(metric.rule_owner, "json", [&] { metric.rule->json(reading.state, &sink); });
}

void Rollup::append_extras(std::string& out, CellAt at) const {
  const ctprof_rule* rule = plan_->metrics[at.metric].rule;
  const Reading reading = read(at);
  if (!rule || !rule->extras || !reading.state) return void(out += "null");
  const ctprof_sink sink = sink_into(out);
  out += '{';
  call_rule(plan_->metrics[at.metric].rule_owner, "extras",
            [&] { rule->extras(reading.state, &sink); });
  out += '}';
}

bool Rollup::has_parts(std::size_t metric) const {
  const ctprof_rule* rule = plan_->metrics[metric].rule;
  return rule && rule->parts;
}

void Rollup::parts(CellAt at, const std::function<void(const Part&)>& visit) const {
  const void* of_group = has_parts(at.metric) ? read(at).state : nullptr;
  if (!of_group) return;
  const ctprof_parts out{sizeof(ctprof_parts), 0,
                         const_cast<std::function<void(const Part&)>*>(&visit), hand_part};
  const PlannedMetric& metric = plan_->metrics[at.metric];
  call_rule(metric.rule_owner, "parts", [&] { metric.rule->parts(of_group, &out); });
}

}  // namespace ctprof
