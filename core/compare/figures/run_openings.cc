// The values of gauges at the opening of the window, and their changes since then.

#include <algorithm>

#include "core/compare/figures/run_figures.hpp"
#include "core/registry/identity.hpp"
#include "core/window/differences.hpp"

namespace ctprof {
namespace {

using Groups = std::span<const std::uint32_t>;

// Returns whether the value of the row no longer exists: the thread exited, or the metric is no
// longer applicable.
bool has_no_value_any_more(const Column& column, std::size_t row) {
  return column.gap(row) == Gap::NotApplicable || column.gap(row) == Gap::ThreadGone;
}

}  // namespace

// Reduces the opening values of a gauge. Includes rows with a value at the end, and rows whose
// value no longer exists at the end. Exited threads are also rows of Window::opening_only.
RunFigures::OpeningCells RunFigures::reduce_opening(const Snapshot& snapshot, const Column& column,
                                                    std::span<const std::uint32_t> groups,
                                                    const PlannedMetric& metric) {
  const bool has_output =
      metric.is_map() ? metric.rule->parts != nullptr : metric.rule->number != nullptr;
  const bool is_level = has_gauges(column.def()) || !metric.counter_of_total.empty();
  if (!snapshot.window || !is_level || !has_output) return {};
  const Opening& opening = snapshot.window->openings[static_cast<std::size_t>(metric.entity)];
  const Column* opening_column = opening.find(column.def().name);
  if (!opening_column || opening_column->def().storage != column.def().storage) return {};
  std::vector<std::uint32_t> groups_with_value(groups.begin(), groups.end());
  OpeningCells found;
  found.opening_states.resize(groups_.count(metric.entity));
  for (std::size_t row = 0; row < groups_with_value.size(); ++row) {
    // Totals of counters also include threads that exited.
    const bool has_exited = metric.counter_of_total.empty() && metric.entity == Entity::Thread &&
                            row >= snapshot.window->living_threads;
    const bool lost_value = metric.counter_of_total.empty() && has_no_value_any_more(column, row) &&
                            opening_column->has_value(row);
    if (has_exited || (!column.has_value(row) && !lost_value)) groups_with_value[row] = kNoGroup;
    if (groups_with_value[row] == kNoGroup) continue;
    const bool is_new = opening.started[row] || opening_column->gap(row) == Gap::NotApplicable;
    OpeningState& beginning = found.opening_states[groups_with_value[row]];
    beginning = std::max(beginning, is_new                           ? OpeningState::Started
                                    : opening_column->has_value(row) ? OpeningState::Present
                                                                     : OpeningState::Unknown);
  }
  found.states = RuleStates(*metric.rule, found.opening_states.size(), metric.rule_owner);
  found.states.add(make_rows_for_rule(*opening_column, groups_with_value, metric, false));
  return found;
}

// Adds the rows that only the opening has to the opening values of gauges.
void RunFigures::add_opening_only(const Snapshot& snapshot, const RowGroups& rows) {
  const Snapshot* const opening_only = snapshot.window->opening_only.get();
  if (!opening_only) return mark_exited_as_unknown(snapshot, rows);
  content_->set_snapshot(*opening_only, {});
  for (std::size_t metric = 0; metric < metrics_.size(); ++metric)
    if (!metrics_[metric].opening.opening_states.empty() &&
        plan_->metrics[metric].counter_of_total.empty())
      add_opening_only(metrics_[metric].opening, *opening_only, rows, plan_->metrics[metric]);
}

void RunFigures::add_opening_only(OpeningCells& found, const Snapshot& opening_only,
                                  const RowGroups& rows, const PlannedMetric& metric) {
  const Groups groups = rows.group_of_opening_row[static_cast<std::size_t>(metric.entity)];
  const Column* opening_column = opening_only.table(metric.entity).find(metric.name);
  for (std::size_t row = 0; row < groups.size(); ++row) {
    if (groups[row] == kNoGroup ||
        (opening_column && opening_column->gap(row) == Gap::NotApplicable))
      continue;
    const bool is_known =
        rows.opening_filter_is_known && opening_column && opening_column->has_value(row);
    OpeningState& beginning = found.opening_states[groups[row]];
    beginning = std::max(beginning, is_known ? OpeningState::Present : OpeningState::Unknown);
  }
  if (opening_column && !groups.empty())
    found.states.add(make_rows_for_rule(*opening_column, groups, metric, false));
}

// Without Window::opening_only, the opening value is unknown for each group with a thread that
// exited, or a process whose leader exited. If threads exited unseen, it is unknown for all groups.
void RunFigures::mark_exited_as_unknown(const Snapshot& snapshot, const RowGroups& rows) {
  const Window& window = *snapshot.window;
  const Groups groups = rows.group_of_row[static_cast<std::size_t>(Entity::Thread)];
  const auto& is_started = window.openings[static_cast<std::size_t>(Entity::Thread)].started;
  const Column *tids = snapshot.threads().find_u64(kTid),
               *tgids = snapshot.threads().find_u64(kTgid);
  const bool unseen = window.exited_unknown > 0 || window.exited_lost > 0;
  for (std::size_t metric = 0; metric < metrics_.size(); ++metric) {
    auto& beginnings = metrics_[metric].opening.opening_states;
    const Entity entity = plan_->metrics[metric].entity;
    if (beginnings.empty() || !plan_->metrics[metric].counter_of_total.empty() ||
        (entity != Entity::Thread && entity != Entity::Process))
      continue;
    for (OpeningState& beginning : beginnings)
      if (unseen && beginning != OpeningState::None) beginning = OpeningState::Unknown;
    for (std::size_t row = window.living_threads; row < groups.size(); ++row) {
      const bool is_leader = !tids || !tgids || tids->u64()[row] == tgids->u64()[row];
      if (groups[row] != kNoGroup && !is_started[row] && (is_leader || entity == Entity::Thread))
        beginnings[groups[row]] = OpeningState::Unknown;
    }
  }
}

OpeningState RunFigures::opening_state(std::uint32_t group, std::size_t metric) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  if (planned.key) return opening_state(group, *planned.inputs.front());
  if (planned.expression) return derived_opening_state(group, planned);
  const auto& beginnings = metrics_[metric].opening.opening_states;
  return beginnings.empty() ? OpeningState::None : beginnings[group];
}

Difference RunFigures::change(std::uint32_t group, std::size_t metric) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  ctprof_number end_value = read(group, metric).number;
  if (planned.is_sum && coverage(group, metric).rows == 0)
    end_value = make_number(std::uint64_t{0});
  if (planned.key) return change(group, *planned.inputs.front(), *planned.key, end_value);
  if (planned.expression) return derived_change(group, planned, end_value);
  const OpeningState state_at_opening = opening_state(group, metric);
  if (state_at_opening == OpeningState::None || state_at_opening == OpeningState::Unknown ||
      !planned.rule->number)
    return {};
  ctprof_number opening_value = make_number(std::uint64_t{0});
  if (state_at_opening == OpeningState::Present)
    opening_value = call_rule(planned.rule_owner, "number", [&] {
      return planned.rule->number(metrics_[metric].opening.states[group]);
    });
  return difference(opening_value, end_value);
}

Difference RunFigures::change(std::uint32_t group, std::size_t map, std::string_view key,
                              const ctprof_number& end_value) const {
  const OpeningState state_at_opening = opening_state(group, map);
  if (state_at_opening == OpeningState::None || state_at_opening == OpeningState::Unknown)
    return {};
  if (plan_->metrics[map].key_is_cumulative(key)) return {};
  ctprof_number opening_value = no_number();
  if (state_at_opening == OpeningState::Present)
    opening_value = find_key_number(metrics_[map].opening.states[group], map, key);
  return difference(
      ctprof::has_value(opening_value) ? opening_value : make_number(std::uint64_t{0}), end_value);
}

}  // namespace ctprof
