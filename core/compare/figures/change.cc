#include "core/compare/figures/change.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/clock.hpp"
#include "core/base/number.hpp"
#include "core/compare/figures/one_boot.hpp"
#include "core/compare/figures/rule_states.hpp"
#include "core/rules/rule_book.hpp"

namespace ctprof {
namespace {

Moved moved_by(const Difference& difference, std::string_view word) {
  const bool differs = difference.known() ? !difference.zero() : word != rules::kSame;
  return differs || word == rules::kDiffers ? Moved::Yes : Moved::No;
}

Difference subtract(const PlannedMetric& metric, const CellValue& baseline,
                    const CellValue& candidate, std::string& word) {
  const ctprof_rule* rule = metric.rule;
  const bool has_states = baseline.state && candidate.state;
  if (!rule || !rule->delta || !has_states) return difference(baseline.number, candidate.number);
  const ctprof_sink sink = sink_into(word);
  return as_difference(call_rule(metric.rule_owner, "delta", [&] {
    return rule->delta(baseline.state, candidate.state, &sink);
  }));
}

PartChange part_change(const Part* baseline, const Part* candidate) {
  const Part& any = baseline ? *baseline : *candidate;
  PartChange change{any.key, any.unit, no_number(), no_number(), {}, kNaN};
  if (baseline) change.baseline = baseline->number;
  if (candidate) change.candidate = candidate->number;
  change.difference = difference(change.baseline, change.candidate);
  change.pct = percent_of(change.difference, change.baseline);
  return change;
}

}  // namespace

double percent_of(const Difference& difference, const ctprof_number& baseline) {
  const double of = as_double(baseline);
  return difference.known() && of != 0 ? difference.real / of : kNaN;
}

Change Changes::of(std::uint32_t group, std::size_t metric, std::size_t side) const {
  return between(rollup_->read({0, group, metric}), rollup_->read({side, group, metric}), metric);
}

Change Changes::between(const CellValue& baseline, const CellValue& candidate,
                        std::size_t metric) const {
  const bool before = baseline.has_value(), after = candidate.has_value();
  const bool alike = same_parts(baseline.made_of, candidate.made_of);
  if (!before || !after)
    return {before || after ? Moved::OneSide : Moved::Nowhere, {}, {}, kNaN, alike};
  const PlannedMetric& planned = plan_->metrics[metric];
  Change change;
  change.alike = alike;
  change.difference = subtract(planned, baseline, candidate, change.word);
  change.moved = moved_by(change.difference, change.word);
  // The difference of a ratio is itself a ratio; a percentage of it would be mistaken for that.
  change.pct =
      planned.unit == "ratio" || !alike ? kNaN : percent_of(change.difference, baseline.number);
  return change;
}

std::vector<PartChange> Changes::parts(std::uint32_t group, std::size_t metric,
                                       std::size_t side) const {
  std::vector<Part> baseline, candidate;
  rollup_->parts({0, group, metric}, [&](const Part& part) { baseline.push_back(part); });
  rollup_->parts({side, group, metric}, [&](const Part& part) { candidate.push_back(part); });
  std::vector<PartChange> changes;
  auto a = baseline.begin(), b = candidate.begin();
  while (a != baseline.end() || b != candidate.end()) {
    const bool before = b == candidate.end() || (a != baseline.end() && a->key <= b->key);
    const bool after = a == baseline.end() || (b != candidate.end() && b->key <= a->key);
    changes.push_back(part_change(before ? &*a : nullptr, after ? &*b : nullptr));
    a += before ? 1 : 0;
    b += after ? 1 : 0;
  }
  return changes;
}

namespace {

// Returns the mean read time of the group's threads, in ns after the start of the capture; NaN if
// unknown.
double mean_read_at(const Rollup& rollup, const Grouping& grouping, std::size_t side,
                    std::uint32_t group) {
  const GroupTimes* times = rollup.times(side, group);
  const auto rows = static_cast<double>(grouping.sides[side].rows(Entity::Thread, group));
  return times && rows > 0 ? times->read_at / rows : kNaN;
}

// Returns how much later the candidate's capture started, in ns. The boot-time clock cannot be set.
double later_by(const RunFacts& baseline, const RunFacts& candidate) {
  return difference(number_of(baseline.meta.start.boottime_ns),
                    number_of(candidate.meta.start.boottime_ns))
      .real;
}

// Returns the absolute duration in seconds; NaN if it is zero.
double as_seconds(double ns) { return ns != 0 ? std::fabs(ns) / kNsPerSecond : kNaN; }

std::string without_times(const RunFigures& baseline, const RunFigures& candidate) {
  const bool before = !baseline.knows_read_at(), after = !candidate.knows_read_at();
  if (before && after) return "neither file states";
  if (before) return "the baseline does not state";
  return after ? "the candidate does not state" : "";
}

}  // namespace

Rates::Rates(std::span<const RunFacts> runs, std::size_t side, const MetricPlan& plan,
             const Rollup& rollup, const Grouping& grouping)
    : plan_(&plan) {
  if (runs[0].window)
    why_none_ = "No rates: counters of windows are already per second.";
  else if (rollup.runs(0) > 1 || rollup.runs(side) > 1)
    why_none_ = "No rates: sides of several snapshots have no common duration.";
  if (!why_none_.empty()) return;
  one_boot_ = of_one_boot(runs[0].meta, runs[side].meta);
  if (!one_boot_) return;
  const double later = later_by(runs[0], runs[side]);
  apart_ = as_seconds(later);
  lacks_times_ = without_times(rollup.run(0), rollup.run(side));
  if (!lacks_times_.empty()) return;
  for (std::uint32_t group = 0; group < grouping.names.size(); ++group) {
    const double before = mean_read_at(rollup, grouping, 0, group),
                 after = mean_read_at(rollup, grouping, side, group);
    threads_apart_.push_back(
        as_seconds(later + (after - before)));  // exchanging the sides changes only the sign
  }
}

double Rates::seconds(std::uint32_t group, Entity entity) const {
  if (!one_boot_) return kNaN;
  if (entity != Entity::Thread) return apart_;
  return threads_apart_.empty() ? kNaN : threads_apart_[group];
}

double Rates::of(std::uint32_t group, std::size_t metric, const Difference& difference) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  if (!planned.adds_up || !difference.known()) return kNaN;
  return difference.real / seconds(group, planned.entity);
}

double Rates::of_key(std::uint32_t group, std::size_t metric, std::string_view key,
                     const Difference& difference) const {
  const PlannedMetric& map = plan_->metrics[metric];
  if (!difference.known() || !map.key_adds_up(key)) return kNaN;
  return difference.real / seconds(group, map.entity);
}

std::vector<std::string> Rates::why_not() const {
  if (!why_none_.empty()) return {why_none_};
  if (!one_boot_)
    return {
        "No rates: the files are not known to be of one boot, so the time between them is not "
        "known."};
  if (std::isnan(apart_)) return {"No rates: no time went by between the two captures."};
  std::vector<std::string> sentences;
  if (!lacks_times_.empty())
    sentences.push_back("No rates of threads: " + lacks_times_ + " when each thread was read.");
  const auto has_none = [](const PlannedMetric& metric) { return metric.shown && !metric.adds_up; };
  if (std::any_of(plan_->metrics.begin(), plan_->metrics.end(), has_none))
    sentences.emplace_back(
        "Only counters have rates; gauges, peaks, ratios and settings have none.");
  return sentences;
}

Lives::Lives(const Meta& meta, const Rollup& rollup, std::size_t side, const Grouping& grouping)
    : threads_(grouping.names.size(), kNaN) {
  // Metrics that were read last count until the end of the capture.
  const auto end_ns = static_cast<double>(std::max(meta.start.boottime_ns, meta.end.boottime_ns));
  host_ = as_seconds(end_ns);
  const double ns_in_tick = 1e9 / static_cast<double>(std::max<std::uint64_t>(meta.user_hz, 1));
  for (std::uint32_t group = 0; group < threads_.size(); ++group)
    if (const GroupTimes* times = rollup.times(side, group); times && times->threads_started > 0)
      threads_[group] = as_seconds(end_ns - times->oldest * ns_in_tick);
}

double Lives::per_second(CellAt at, const PlannedMetric& metric, const Rollup& rollup) const {
  if (!metric.adds_up || metric.entity == Entity::Cgroup) return kNaN;
  const double seconds = metric.entity == Entity::Host ? host_ : threads_[at.group];
  return seconds > 0 ? as_double(rollup.read(at).number) / seconds : kNaN;
}

std::vector<double> uptimes(const Rollup& rollup, const Grouping& grouping) {
  const std::size_t last = rollup.sides() - 1, count = grouping.names.size();
  std::vector<double> lifetimes(count, kNaN);
  if (!rollup.run(last).knows_starts()) return lifetimes;
  double newest = 0, longest = 0;
  for (std::uint32_t group = 0; group < count; ++group)
    if (const GroupTimes* times = rollup.times(last, group))
      newest = std::max(newest, times->newest);
  for (std::uint32_t group = 0; group < count; ++group) {
    const GroupTimes* times = rollup.times(last, group);
    if (!times) continue;
    lifetimes[group] = newest - times->starts / times->threads_started;  // NaN if no start is known
    if (grouping.has(0, group) && lifetimes[group] > longest) longest = lifetimes[group];
  }
  for (double& lifetime : lifetimes) lifetime /= longest;  // NaN if all started simultaneously
  return lifetimes;
}

}  // namespace ctprof
