// The values of gauges at the opening of the window, and their changes since then.

#include <algorithm>

#include "core/compare/figures/run_figures.hpp"
#include "core/registry/identity.hpp"
#include "core/window/happened.hpp"

namespace ctprof {
namespace {

using Groups = std::span<const std::uint32_t>;

// Returns whether the row has no value any more: the thread exited, or the metric is no longer
// applicable.
bool left_nothing(const Column& column, std::size_t row) {
  return column.gap(row) == Gap::NotApplicable || column.gap(row) == Gap::ThreadGone;
}

}  // namespace

// Reduces the opening values of a gauge over the rows that have a value at the end, or none any
// more. Threads that exited are also rows of Window::opening_only.
RunFigures::Opened RunFigures::opened(const Snapshot& snapshot, const Column& column,
                                      std::span<const std::uint32_t> groups,
                                      const PlannedMetric& metric) {
  const bool is_told =
      metric.is_map() ? metric.rule->parts != nullptr : metric.rule->number != nullptr;
  const bool is_level = has_gauges(column.def()) || !metric.total_of.empty();
  if (!snapshot.window || !is_level || !is_told) return {};
  const Opening& opening = snapshot.window->openings[static_cast<std::size_t>(metric.entity)];
  const Column* then = opening.find(column.def().name);
  if (!then || then->def().storage != column.def().storage) return {};
  std::vector<std::uint32_t> there(groups.begin(), groups.end());
  Opened found;
  found.beginnings.resize(groups_.count(metric.entity));
  for (std::size_t row = 0; row < there.size(); ++row) {
    // Totals of counters also include threads that exited.
    const bool exited = metric.total_of.empty() && metric.entity == Entity::Thread &&
                        row >= snapshot.window->living;
    const bool left = metric.total_of.empty() && left_nothing(column, row) && then->has_value(row);
    if (exited || (!column.has_value(row) && !left)) there[row] = kNoGroup;
    if (there[row] == kNoGroup) continue;
    const bool began = opening.born[row] || then->gap(row) == Gap::NotApplicable;
    Beginning& beginning = found.beginnings[there[row]];
    beginning = std::max(beginning, began                  ? Beginning::Born
                                    : then->has_value(row) ? Beginning::There
                                                           : Beginning::Unknown);
  }
  found.states = States(*metric.rule, found.beginnings.size(), metric.rule_owner);
  found.states.add(readings_of(*then, there, metric, false));
  return found;
}

// Adds the rows that only the opening has to the opening values of gauges.
void RunFigures::add_opening_only(const Snapshot& snapshot, const RowGroups& rows) {
  const Snapshot* const opening_only = snapshot.window->opening_only.get();
  if (!opening_only) return add_exited_unknown(snapshot, rows);
  content_->show(*opening_only, {});
  for (std::size_t metric = 0; metric < metrics_.size(); ++metric)
    if (!metrics_[metric].opened.beginnings.empty() && plan_->metrics[metric].total_of.empty())
      add_opening_only(metrics_[metric].opened, *opening_only, rows, plan_->metrics[metric]);
}

void RunFigures::add_opening_only(Opened& found, const Snapshot& opening_only,
                                  const RowGroups& rows, const PlannedMetric& metric) {
  const Groups groups = rows.of_opening_only[static_cast<std::size_t>(metric.entity)];
  const Column* then = opening_only.table(metric.entity).find(metric.name);
  for (std::size_t row = 0; row < groups.size(); ++row) {
    if (groups[row] == kNoGroup || (then && then->gap(row) == Gap::NotApplicable)) continue;
    const bool is_known = rows.knows_opening_only && then && then->has_value(row);
    Beginning& beginning = found.beginnings[groups[row]];
    beginning = std::max(beginning, is_known ? Beginning::There : Beginning::Unknown);
  }
  if (then && !groups.empty()) found.states.add(readings_of(*then, groups, metric, false));
}

// Without Window::opening_only, the opening value is unknown for each group with a thread that
// exited, or a process whose leader exited. If threads exited unseen, it is unknown for all groups.
void RunFigures::add_exited_unknown(const Snapshot& snapshot, const RowGroups& rows) {
  const Window& window = *snapshot.window;
  const Groups groups = rows.of_row[static_cast<std::size_t>(Entity::Thread)];
  const auto& born = window.openings[static_cast<std::size_t>(Entity::Thread)].born;
  const Column *tids = snapshot.threads().find_u64(kTid),
               *tgids = snapshot.threads().find_u64(kTgid);
  const bool unseen = window.ended_unseen > 0 || window.ended_lost > 0;
  for (std::size_t metric = 0; metric < metrics_.size(); ++metric) {
    auto& beginnings = metrics_[metric].opened.beginnings;
    const Entity entity = plan_->metrics[metric].entity;
    if (beginnings.empty() || !plan_->metrics[metric].total_of.empty() ||
        (entity != Entity::Thread && entity != Entity::Process))
      continue;
    for (Beginning& beginning : beginnings)
      if (unseen && beginning != Beginning::None) beginning = Beginning::Unknown;
    for (std::size_t row = window.living; row < groups.size(); ++row) {
      const bool leads = !tids || !tgids || tids->u64()[row] == tgids->u64()[row];
      if (groups[row] != kNoGroup && !born[row] && (leads || entity == Entity::Thread))
        beginnings[groups[row]] = Beginning::Unknown;
    }
  }
}

Beginning RunFigures::beginning(std::uint32_t group, std::size_t metric) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  if (planned.key) return beginning(group, *planned.inputs.front());
  if (planned.expression) return derived_beginning(group, planned);
  const auto& beginnings = metrics_[metric].opened.beginnings;
  return beginnings.empty() ? Beginning::None : beginnings[group];
}

Difference RunFigures::change(std::uint32_t group, std::size_t metric) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  ctprof_number now = read(group, metric).number;
  if (planned.is_sum && coverage(group, metric).rows == 0) now = number_of(std::uint64_t{0});
  if (planned.key) return change(group, *planned.inputs.front(), *planned.key, now);
  if (planned.expression) return derived_change(group, planned, now);
  const Beginning began = beginning(group, metric);
  if (began == Beginning::None || began == Beginning::Unknown || !planned.rule->number) return {};
  ctprof_number then = number_of(std::uint64_t{0});
  if (began == Beginning::There)
    then = call_rule(planned.rule_owner, "number",
                     [&] { return planned.rule->number(metrics_[metric].opened.states[group]); });
  return difference(then, now);
}

Difference RunFigures::change(std::uint32_t group, std::size_t map, std::string_view key,
                              const ctprof_number& now) const {
  const Beginning began = beginning(group, map);
  if (began == Beginning::None || began == Beginning::Unknown) return {};
  if (plan_->metrics[map].key_adds_up(key)) return {};
  ctprof_number then = no_number();
  if (began == Beginning::There) then = number_in(metrics_[map].opened.states[group], map, key);
  return difference(ctprof::has_value(then) ? then : number_of(std::uint64_t{0}), now);
}

}  // namespace ctprof
