#include "core/compare/figures/rates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/compare/figures/lives.hpp"

namespace ctprof {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kNsPerSecond = 1e9;

// When the group's threads were read, in ns after the capture's start, on average; NaN for none.
double mean_read_at(const Snapshot& snapshot, std::span<const std::uint32_t> rows) {
  if (rows.empty() || snapshot.read_at.empty()) return kNone;
  double sum = 0;
  for (const std::uint32_t row : rows) sum += static_cast<double>(snapshot.read_at[row]);
  return sum / static_cast<double>(rows.size());
}

// How much later the candidate's capture began, in ns; the clock is one that nobody sets.
double later_by(const Snapshot& baseline, const Snapshot& candidate) {
  return difference(number_of(baseline.meta.start.boottime_ns),
                    number_of(candidate.meta.start.boottime_ns))
      .real;
}

// A time between, or NaN where no time went by.
double as_seconds(double ns) { return ns != 0 ? std::fabs(ns) / kNsPerSecond : kNone; }

std::string without_times(const Snapshot& baseline, const Snapshot& candidate) {
  const bool before = baseline.read_at.size() < baseline.threads().rows,
             after = candidate.read_at.size() < candidate.threads().rows;
  if (before && after) return "neither file says";
  if (before) return "the baseline does not say";
  return after ? "the candidate does not say" : "";
}

}  // namespace

Rates::Rates(std::span<const Snapshot* const> sides, const MetricPlan& plan,
             const Grouping& grouping, const std::vector<Members>& members)
    : plan_(&plan) {
  one_boot_ = sides.size() == 2 && of_one_boot(sides[0]->meta, sides[1]->meta);
  if (!one_boot_) return;
  const double later = later_by(*sides[0], *sides[1]);
  apart_ = as_seconds(later);
  lacks_times_ = without_times(*sides[0], *sides[1]);
  if (!lacks_times_.empty()) return;
  for (std::uint32_t group = 0; group < grouping.names.size(); ++group) {
    const double before = mean_read_at(*sides[0], members[0].of(group)),
                 after = mean_read_at(*sides[1], members[1].of(group));
    threads_apart_.push_back(
        as_seconds(later + (after - before)));  // so that exchanging the sides only turns the sign
  }
}

double Rates::seconds(std::uint32_t group, Entity entity) const {
  if (!one_boot_) return kNone;
  if (entity != Entity::Thread) return apart_;
  return threads_apart_.empty() ? kNone : threads_apart_[group];
}

double Rates::of(std::uint32_t group, std::size_t metric, const Difference& difference) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  if (!planned.adds_up || !difference.known()) return kNone;
  return difference.real / seconds(group, planned.entity);
}

std::vector<std::string> Rates::why_not() const {
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
        "Rates are of what counts up; gauges, peaks, ratios and settings have none.");
  return sentences;
}

}  // namespace ctprof
