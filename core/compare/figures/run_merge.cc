// Merges results of another part of the same run, or of two groups that turn out to be equal.

#include <algorithm>
#include <unordered_map>

#include "core/compare/figures/run_figures.hpp"

namespace ctprof {
namespace {

void add(GroupTimes& into, const GroupTimes& other) {
  into.starts += other.starts;
  into.known_starts += other.known_starts;
  into.newest = std::max(into.newest, other.newest);
  into.oldest = std::min(into.oldest, other.oldest);
  into.read_at += other.read_at;
}

void add_rows(RunGroups& into, std::uint32_t into_group, const RunGroups& other,
              std::uint32_t group) {
  for (const Entity entity : grouped_entities())
    into.rows_of[static_cast<std::size_t>(entity)][into_group] += other.rows(entity, group);
  into.threads[into_group] += other.threads[group];
}

// Returns the states with capacity for more groups.
RuleStates resize_states(RuleStates& states, std::size_t groups, const PlannedMetric& metric) {
  if (states.empty() || states.count() == groups) return std::move(states);
  RuleStates resized(*metric.rule, groups, metric.rule_owner);
  for (std::size_t group = 0; group < states.count(); ++group) resized.merge(group, states, group);
  return resized;
}

}  // namespace

void RunFigures::merge(const RunFigures& other) {
  content_->share_copies_of(*other.content_);
  const auto into = add_groups_of(other);
  for (std::size_t metric = 0; metric < metrics_.size(); ++metric) {
    const bool is_host_metric = plan_->metrics[metric].entity == Entity::Host;
    resize_cells(metric);
    const std::size_t groups = other.groups_.count(plan_->metrics[metric].entity);
    for (std::uint32_t group = 0; group < groups; ++group)
      merge_cells(metric, is_host_metric ? group : into[group], other, group);
    metrics_[metric].is_measured |= other.metrics_[metric].is_measured;
    metrics_[metric].covered_ns =
        std::max(metrics_[metric].covered_ns, other.metrics_[metric].covered_ns);
    Absence &own_absence = metrics_[metric].absence, other_absence = other.metrics_[metric].absence;
    if (own_absence.rows < other_absence.rows)
      own_absence.most_frequent_gap = other_absence.most_frequent_gap;
    const bool are_both_in_file = own_absence.in_file && other_absence.in_file;
    own_absence = {own_absence.in_file || other_absence.in_file,
                   own_absence.rows + other_absence.rows, own_absence.most_frequent_gap,
                   are_both_in_file ? own_absence.is_unsupported && other_absence.is_unsupported
                                    : own_absence.is_unsupported || other_absence.is_unsupported,
                   own_absence.has_values || other_absence.has_values};
  }
  auto& host_rows = groups_.rows_of[static_cast<std::size_t>(Entity::Host)];
  host_rows[0] += other.groups_.rows(Entity::Host, 0);
  for (std::uint32_t group = 0; group < into.size(); ++group) {
    add_rows(groups_, into[group], other.groups_, group);
    add(times_[into[group]], other.times_[group]);
  }
  has_read_times_ = has_read_times_ && other.has_read_times_;
  has_start_times_ = has_start_times_ && other.has_start_times_;
}

// Adds the groups that are new, and returns this object's number of each group of `other`.
std::vector<std::uint32_t> RunFigures::add_groups_of(const RunFigures& other) {
  std::unordered_map<std::uint32_t, std::uint32_t> number_by_key;  // by key
  for (std::uint32_t group = 0; group < groups_.keys.size(); ++group)
    number_by_key.emplace(groups_.keys[group], group);
  std::vector<std::uint32_t> into;
  for (const std::uint32_t key : other.groups_.keys) {
    const auto [place, is_new] =
        number_by_key.try_emplace(key, static_cast<std::uint32_t>(groups_.keys.size()));
    if (is_new) groups_.keys.push_back(key);
    into.push_back(place->second);
  }
  for (const Entity entity : grouped_entities())
    groups_.rows_of[static_cast<std::size_t>(entity)].resize(groups_.keys.size());
  groups_.threads.resize(groups_.keys.size());
  times_.resize(groups_.keys.size());
  return into;
}

// Resizes a metric's cells to all groups, each with its own count.
void RunFigures::resize_cells(std::size_t metric) {
  const PlannedMetric& planned = plan_->metrics[metric];
  Cells& cells = metrics_[metric];
  const std::size_t groups = groups_.count(planned.entity);
  fill_counts(metric);
  cells.counts.resize(groups);
  if (!cells.busiest.empty()) cells.busiest.resize(groups);
  cells.states = resize_states(cells.states, groups, planned);
  cells.opening.states = resize_states(cells.opening.states, groups, planned);
  if (!cells.opening.opening_states.empty()) cells.opening.opening_states.resize(groups);
}

void RunFigures::fill_counts(std::size_t metric) {
  Cells& cells = metrics_[metric];
  if (!cells.counts.empty()) return;
  std::vector<Count> counts;
  for (std::uint32_t group = 0; group < groups_.count(plan_->metrics[metric].entity); ++group) {
    const Coverage group_coverage = coverage(group, metric);
    counts.push_back({static_cast<std::uint32_t>(group_coverage.values),
                      static_cast<std::uint32_t>(group_coverage.rows)});
  }
  cells.counts = std::move(counts);
  cells.has_none = false;
}

// REQUIRES: as merge_cells.
void RunFigures::merge_opening(std::size_t metric, std::uint32_t into, const OpeningCells& other,
                               std::uint32_t from) {
  if (other.opening_states.empty()) return;
  const PlannedMetric& planned = plan_->metrics[metric];
  OpeningCells& own_cells = metrics_[metric].opening;
  if (own_cells.opening_states.empty()) {
    own_cells.opening_states.resize(metrics_[metric].counts.size());
    own_cells.states =
        RuleStates(*planned.rule, own_cells.opening_states.size(), planned.rule_owner);
  }
  own_cells.states.merge(into, other.states, from);
  own_cells.opening_states[into] =
      std::max(own_cells.opening_states[into], other.opening_states[from]);
}

// REQUIRES: the metric has counts for each group, including `into`.
void RunFigures::merge_cells(std::size_t metric, std::uint32_t into, const RunFigures& other,
                             std::uint32_t from) {
  const PlannedMetric& planned = plan_->metrics[metric];
  Cells& cells = metrics_[metric];
  const Cells& other_cells = other.metrics_[metric];
  const Coverage coverage = other.coverage(from, metric);
  cells.counts[into].values += static_cast<std::uint32_t>(coverage.values);
  cells.counts[into].rows += static_cast<std::uint32_t>(coverage.rows);
  merge_opening(metric, into, other_cells.opening, from);
  if (coverage.values == 0 || other_cells.states.empty()) return;
  if (cells.states.empty())
    cells.states = RuleStates(*planned.rule, cells.counts.size(), planned.rule_owner);
  cells.states.merge(into, other_cells.states, from);
  if (other_cells.busiest.empty()) return;
  cells.busiest.resize(cells.counts.size());
  if (other_cells.busiest[from].reading > cells.busiest[into].reading)
    cells.busiest[into] = other_cells.busiest[from];
}

void RunFigures::merge_groups(std::uint32_t into, std::uint32_t from) {
  for (std::size_t metric = 0; metric < metrics_.size(); ++metric) {
    if (plan_->metrics[metric].entity == Entity::Host) continue;
    fill_counts(metric);
    merge_cells(metric, into, *this, from);
  }
  add_rows(groups_, into, groups_, from);
  add(times_[into], times_[from]);
}

}  // namespace ctprof
