#include "core/compare/figures/change.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/clock.hpp"
#include "core/base/number.hpp"
#include "core/compare/figures/one_boot.hpp"
#include "core/compare/figures/rule_states.hpp"
#include "core/rules/rule_set.hpp"

namespace ctprof {
namespace {

ChangeState change_state(const Difference& difference, std::string_view word) {
  const bool differs = difference.is_known() ? !difference.is_zero() : word != rules::kSame;
  return differs || word == rules::kDiffers ? ChangeState::Changed : ChangeState::Unchanged;
}

Difference subtract(const PlannedMetric& metric, const CellValue& baseline,
                    const CellValue& candidate, std::string& word) {
  const ctprof_rule* rule = metric.rule;
  const bool has_states = baseline.state && candidate.state;
  if (!rule || !rule->delta || !has_states) return difference(baseline.number, candidate.number);
  const ctprof_sink sink = make_text_sink(word);
  return as_difference(call_rule(metric.rule_owner, "delta", [&] {
    return rule->delta(baseline.state, candidate.state, &sink);
  }));
}

KeyChange make_key_change(const MapEntry* baseline, const MapEntry* candidate) {
  const MapEntry& existing = baseline ? *baseline : *candidate;
  KeyChange change{existing.key, existing.unit, no_number(), no_number(), {}, kNaN};
  if (baseline) change.baseline = baseline->number;
  if (candidate) change.candidate = candidate->number;
  change.difference = difference(change.baseline, change.candidate);
  change.pct = fraction_of_baseline(change.difference, change.baseline);
  return change;
}

}  // namespace

double fraction_of_baseline(const Difference& difference, const ctprof_number& baseline) {
  const double base = as_double(baseline);
  return difference.is_known() && base != 0 ? difference.real / base : kNaN;
}

Change Changes::change(std::uint32_t group, std::size_t metric, std::size_t side) const {
  return change_between(rollup_->read({0, group, metric}), rollup_->read({side, group, metric}),
                        metric);
}

Change Changes::change_between(const CellValue& baseline, const CellValue& candidate,
                               std::size_t metric) const {
  const bool before = baseline.has_value(), after = candidate.has_value();
  const bool has_same_parts = have_same_parts(baseline.derived_parts, candidate.derived_parts);
  if (!before || !after)
    return {
        before || after ? ChangeState::OneSide : ChangeState::NoSide, {}, {}, kNaN, has_same_parts};
  const PlannedMetric& planned = plan_->metrics[metric];
  Change change;
  change.has_same_parts = has_same_parts;
  change.difference = subtract(planned, baseline, candidate, change.rule_text);
  change.state = change_state(change.difference, change.rule_text);
  // The difference of two ratios is itself a ratio, so a percentage of the baseline would be
  // ambiguous.
  change.pct = planned.unit == "ratio" || !has_same_parts
                   ? kNaN
                   : fraction_of_baseline(change.difference, baseline.number);
  return change;
}

std::vector<KeyChange> Changes::map_changes(std::uint32_t group, std::size_t metric,
                                            std::size_t side) const {
  std::vector<MapEntry> baseline, candidate;
  rollup_->visit_map({0, group, metric}, [&](const MapEntry& part) { baseline.push_back(part); });
  rollup_->visit_map({side, group, metric},
                     [&](const MapEntry& part) { candidate.push_back(part); });
  std::vector<KeyChange> changes;
  auto a = baseline.begin(), b = candidate.begin();
  while (a != baseline.end() || b != candidate.end()) {
    const bool before = b == candidate.end() || (a != baseline.end() && a->key <= b->key);
    const bool after = a == baseline.end() || (b != candidate.end() && b->key <= a->key);
    changes.push_back(make_key_change(before ? &*a : nullptr, after ? &*b : nullptr));
    a += before ? 1 : 0;
    b += after ? 1 : 0;
  }
  return changes;
}

namespace {

// Returns the mean read time of the group's threads, in ns after the start of the capture; NaN if
// unknown.
double mean_read_time_ns(const Rollup& rollup, const Grouping& grouping, std::size_t side,
                         std::uint32_t group) {
  const GroupTimes* times = rollup.times(side, group);
  const auto rows = static_cast<double>(grouping.sides[side].rows(Entity::Thread, group));
  return times && rows > 0 ? times->read_at / rows : kNaN;
}

// Returns how much later the candidate's capture started, in ns. The boot-time clock cannot be set.
double start_delay_ns(const RunFacts& baseline, const RunFacts& candidate) {
  return difference(make_number(baseline.meta.start.boottime_ns),
                    make_number(candidate.meta.start.boottime_ns))
      .real;
}

// Returns the absolute duration in seconds; NaN if it is zero.
double to_seconds(double ns) { return ns != 0 ? std::fabs(ns) / kNsPerSecond : kNaN; }

std::string describe_missing_times(const RunFigures& baseline, const RunFigures& candidate) {
  const bool before = !baseline.has_read_times(), after = !candidate.has_read_times();
  if (before && after) return "neither file states";
  if (before) return "the baseline does not state";
  return after ? "the candidate does not state" : "";
}

}  // namespace

Rates::Rates(std::span<const RunFacts> runs, std::size_t side, const MetricPlan& plan,
             const Rollup& rollup, const Grouping& grouping)
    : plan_(&plan) {
  if (runs[0].window)
    missing_reason_ = "No rates: counters of windows are already per second.";
  else if (rollup.runs(0) > 1 || rollup.runs(side) > 1)
    missing_reason_ = "No rates: sides of several snapshots have no common duration.";
  if (!missing_reason_.empty()) return;
  one_boot_ = have_same_boot(runs[0].meta, runs[side].meta);
  if (!one_boot_) return;
  const double later = start_delay_ns(runs[0], runs[side]);
  seconds_apart_ = to_seconds(later);
  missing_times_message_ = describe_missing_times(rollup.run(0), rollup.run(side));
  if (!missing_times_message_.empty()) return;
  for (std::uint32_t group = 0; group < grouping.names.size(); ++group) {
    const double before = mean_read_time_ns(rollup, grouping, 0, group),
                 after = mean_read_time_ns(rollup, grouping, side, group);
    // Exchanging the sides changes only the sign.
    thread_seconds_apart_.push_back(to_seconds(later + (after - before)));
  }
}

double Rates::seconds(std::uint32_t group, Entity entity) const {
  if (!one_boot_) return kNaN;
  if (entity != Entity::Thread) return seconds_apart_;
  return thread_seconds_apart_.empty() ? kNaN : thread_seconds_apart_[group];
}

double Rates::rate(std::uint32_t group, std::size_t metric, const Difference& difference) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  if (!planned.is_cumulative || !difference.is_known()) return kNaN;
  return difference.real / seconds(group, planned.entity);
}

double Rates::key_rate(std::uint32_t group, std::size_t metric, std::string_view key,
                       const Difference& difference) const {
  const PlannedMetric& map = plan_->metrics[metric];
  if (!difference.is_known() || !map.key_is_cumulative(key)) return kNaN;
  return difference.real / seconds(group, map.entity);
}

std::vector<std::string> Rates::explain_missing_rates() const {
  if (!missing_reason_.empty()) return {missing_reason_};
  if (!one_boot_)
    return {
        "No rates: the time between the files is unknown, because they may be from different "
        "boots."};
  if (std::isnan(seconds_apart_)) return {"No rates: no time passed between the two captures."};
  std::vector<std::string> sentences;
  if (!missing_times_message_.empty())
    sentences.push_back("No rates of threads: " + missing_times_message_ +
                        " when each thread was read.");
  const auto has_none = [](const PlannedMetric& metric) {
    return metric.is_shown && !metric.is_cumulative;
  };
  if (std::any_of(plan_->metrics.begin(), plan_->metrics.end(), has_none))
    sentences.emplace_back(
        "Only counters have rates; gauges, peaks, ratios and settings have none.");
  return sentences;
}

GroupAges::GroupAges(const Meta& meta, const Rollup& rollup, std::size_t side,
                     const Grouping& grouping)
    : oldest_thread_ages_(grouping.names.size(), kNaN) {
  // Ages are those at the end of the capture, when the last metrics were read.
  const auto end_ns = static_cast<double>(std::max(meta.start.boottime_ns, meta.end.boottime_ns));
  host_age_ = to_seconds(end_ns);
  const double ns_in_tick = 1e9 / static_cast<double>(std::max<std::uint64_t>(meta.user_hz, 1));
  for (std::uint32_t group = 0; group < oldest_thread_ages_.size(); ++group)
    if (const GroupTimes* times = rollup.times(side, group); times && times->known_starts > 0)
      oldest_thread_ages_[group] = to_seconds(end_ns - times->oldest * ns_in_tick);
}

double GroupAges::per_second(CellPosition at, const PlannedMetric& metric,
                             const Rollup& rollup) const {
  if (!metric.is_cumulative || metric.entity == Entity::Cgroup) return kNaN;
  const bool counts_since_boot = metric.entity == Entity::Host || is_of_plugin(metric.entity);
  const double seconds = counts_since_boot ? host_age_ : oldest_thread_ages_[at.group];
  return seconds > 0 ? as_double(rollup.read(at).number) / seconds : kNaN;
}

std::vector<double> group_lifetime_shares(const Rollup& rollup, const Grouping& grouping) {
  const std::size_t last = rollup.sides() - 1, count = grouping.names.size();
  std::vector<double> lifetimes(count, kNaN);
  if (!rollup.run(last).has_start_times()) return lifetimes;
  double newest = 0, longest = 0;
  for (std::uint32_t group = 0; group < count; ++group)
    if (const GroupTimes* times = rollup.times(last, group))
      newest = std::max(newest, times->newest);
  for (std::uint32_t group = 0; group < count; ++group) {
    const GroupTimes* times = rollup.times(last, group);
    if (!times) continue;
    lifetimes[group] = newest - times->starts / times->known_starts;  // NaN if no start is known
    if (grouping.has_group(0, group) && lifetimes[group] > longest) longest = lifetimes[group];
  }
  for (double& lifetime : lifetimes) lifetime /= longest;  // NaN if all started simultaneously
  return lifetimes;
}

}  // namespace ctprof
