// Merges results of another part of the same run, or of two groups that turn out to be equal.

#include <algorithm>
#include <unordered_map>

#include "core/compare/figures/run_figures.hpp"

namespace ctprof {
namespace {

void add(GroupTimes& into, const GroupTimes& other) {
  into.starts += other.starts;
  into.threads_started += other.threads_started;
  into.newest = std::max(into.newest, other.newest);
  into.oldest = std::min(into.oldest, other.oldest);
  into.read_at += other.read_at;
}

void add_rows(RunGroups& into, std::uint32_t into_group, const RunGroups& other,
              std::uint32_t group) {
  for (const Entity entity : {Entity::Thread, Entity::Process, Entity::Cgroup})
    into.rows_of[static_cast<std::size_t>(entity)][into_group] += other.rows(entity, group);
  into.threads[into_group] += other.threads[group];
}

// Returns the states with capacity for more groups.
States wider(States& states, std::size_t groups, const PlannedMetric& metric) {
  if (states.empty() || states.count() == groups) return std::move(states);
  States wider(*metric.rule, groups, metric.rule_owner);
  for (std::size_t group = 0; group < states.count(); ++group) wider.merge(group, states, group);
  return wider;
}

}  // namespace

void RunFigures::merge(const RunFigures& other) {
  content_->join(*other.content_);
  const auto into = take_groups(other);
  for (std::size_t metric = 0; metric < metrics_.size(); ++metric) {
    const bool of_host = plan_->metrics[metric].entity == Entity::Host;
    widen(metric);
    const std::size_t groups = other.groups_.count(plan_->metrics[metric].entity);
    for (std::uint32_t group = 0; group < groups; ++group)
      merge_cells(metric, of_host ? group : into[group], other, group);
    metrics_[metric].is_measured |= other.metrics_[metric].is_measured;
    metrics_[metric].covered_ns =
        std::max(metrics_[metric].covered_ns, other.metrics_[metric].covered_ns);
    Absence &own = metrics_[metric].absence, its = other.metrics_[metric].absence;
    if (own.rows < its.rows) own.most = its.most;
    const bool knows = own.in_file && its.in_file;
    own = {own.in_file || its.in_file, own.rows + its.rows, own.most,
           knows ? own.unsupported && its.unsupported : own.unsupported || its.unsupported};
  }
  auto& host_rows = groups_.rows_of[static_cast<std::size_t>(Entity::Host)];
  host_rows[0] += other.groups_.rows(Entity::Host, 0);
  for (std::uint32_t group = 0; group < into.size(); ++group) {
    add_rows(groups_, into[group], other.groups_, group);
    add(times_[into[group]], other.times_[group]);
  }
  knows_read_at_ = knows_read_at_ && other.knows_read_at_;
  knows_starts_ = knows_starts_ && other.knows_starts_;
}

// Adds the groups that are new, and returns this object's number of each group of `other`.
std::vector<std::uint32_t> RunFigures::take_groups(const RunFigures& other) {
  std::unordered_map<std::uint32_t, std::uint32_t> known;  // by key
  for (std::uint32_t group = 0; group < groups_.keys.size(); ++group)
    known.emplace(groups_.keys[group], group);
  std::vector<std::uint32_t> into;
  for (const std::uint32_t key : other.groups_.keys) {
    const auto [place, is_new] =
        known.try_emplace(key, static_cast<std::uint32_t>(groups_.keys.size()));
    if (is_new) groups_.keys.push_back(key);
    into.push_back(place->second);
  }
  for (const Entity entity : {Entity::Thread, Entity::Process, Entity::Cgroup})
    groups_.rows_of[static_cast<std::size_t>(entity)].resize(groups_.keys.size());
  groups_.threads.resize(groups_.keys.size());
  times_.resize(groups_.keys.size());
  return into;
}

// Resizes a metric's cells to all groups, each with its own count.
void RunFigures::widen(std::size_t metric) {
  const PlannedMetric& planned = plan_->metrics[metric];
  Cells& cells = metrics_[metric];
  const std::size_t groups = groups_.count(planned.entity);
  count_out(metric);
  cells.counts.resize(groups);
  if (!cells.busiest.empty()) cells.busiest.resize(groups);
  cells.states = wider(cells.states, groups, planned);
  cells.opened.states = wider(cells.opened.states, groups, planned);
  if (!cells.opened.beginnings.empty()) cells.opened.beginnings.resize(groups);
}

void RunFigures::count_out(std::size_t metric) {
  Cells& cells = metrics_[metric];
  if (!cells.counts.empty()) return;
  std::vector<Count> counts;
  for (std::uint32_t group = 0; group < groups_.count(plan_->metrics[metric].entity); ++group) {
    const Coverage known = coverage(group, metric);
    counts.push_back(
        {static_cast<std::uint32_t>(known.values), static_cast<std::uint32_t>(known.rows)});
  }
  cells.counts = std::move(counts);
  cells.has_none = false;
}

// REQUIRES: as merge_cells.
void RunFigures::merge_opened(std::size_t metric, std::uint32_t into, const Opened& other,
                              std::uint32_t from) {
  if (other.beginnings.empty()) return;
  const PlannedMetric& planned = plan_->metrics[metric];
  Opened& own = metrics_[metric].opened;
  if (own.beginnings.empty()) {
    own.beginnings.resize(metrics_[metric].counts.size());
    own.states = States(*planned.rule, own.beginnings.size(), planned.rule_owner);
  }
  own.states.merge(into, other.states, from);
  own.beginnings[into] = std::max(own.beginnings[into], other.beginnings[from]);
}

// REQUIRES: the metric has counts for each group, including `into`.
void RunFigures::merge_cells(std::size_t metric, std::uint32_t into, const RunFigures& other,
                             std::uint32_t from) {
  const PlannedMetric& planned = plan_->metrics[metric];
  Cells& cells = metrics_[metric];
  const Cells& its = other.metrics_[metric];
  const Coverage coverage = other.coverage(from, metric);
  cells.counts[into].values += static_cast<std::uint32_t>(coverage.values);
  cells.counts[into].rows += static_cast<std::uint32_t>(coverage.rows);
  merge_opened(metric, into, its.opened, from);
  if (coverage.values == 0 || its.states.empty()) return;
  if (cells.states.empty())
    cells.states = States(*planned.rule, cells.counts.size(), planned.rule_owner);
  cells.states.merge(into, its.states, from);
  if (its.busiest.empty()) return;
  cells.busiest.resize(cells.counts.size());
  if (its.busiest[from].reading > cells.busiest[into].reading)
    cells.busiest[into] = its.busiest[from];
}

void RunFigures::unite(std::uint32_t into, std::uint32_t from) {
  for (std::size_t metric = 0; metric < metrics_.size(); ++metric) {
    if (plan_->metrics[metric].entity == Entity::Host) continue;
    count_out(metric);
    merge_cells(metric, into, *this, from);
  }
  add_rows(groups_, into, groups_, from);
  add(times_[into], times_[from]);
}

}  // namespace ctprof
