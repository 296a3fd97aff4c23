#include "core/compare/report/order.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/base/number.hpp"

namespace ctprof {
namespace {

// Returns the absolute value; infinite and missing numbers count as 0.
double finite_magnitude(const ctprof_number& number) {
  const double value = std::fabs(as_double(number));
  return std::isfinite(value) ? value : 0;
}

// Larger values come first; NaN is last.
bool ranks_before(double a, double b) { return !std::isnan(a) && (std::isnan(b) || a > b); }

double larger_rank(double a, double b) { return ranks_before(b, a) ? b : a; }

double share_of(double part, double total) { return total > 0 ? part / total : 0; }

// Finds `key`. Keys are visited in order and mostly repeat, so the key is often at `hint`.
template <class Totals>
auto find_with_hint(Totals& totals, decltype(totals.begin()) hint, std::string_view key) {
  return hint != totals.end() && hint->first == key ? hint : totals.find(key);
}

}  // namespace

Order::Order(const Rollup& rollup, const Grouping& grouping, const MetricPlan& plan,
             std::span<const SortKey> keys)
    : rollup_(&rollup), grouping_(&grouping), plan_(&plan), changes_(rollup, plan) {
  for (const SortKey& key : keys) {
    const PlannedMetric* metric = plan.find(key.metric);
    keys_.push_back({key.by, key.ascending ? -1.0 : 1.0,
                     metric ? static_cast<std::size_t>(metric - plan.metrics.data()) : 0});
  }
  const std::size_t metrics = plan.metrics.size();
  totals_.resize(metrics);
  key_totals_.resize(metrics);
  for (std::size_t metric = 0; metric < metrics; ++metric)
    for (std::size_t side = 0; side < grouping.sides.size(); ++side) add_totals(side, metric);
}

void Order::add_totals(std::size_t side, std::size_t metric) {
  if (plan_->metrics[metric].is_omitted) return;
  double total = 0;
  KeyTotals parts;
  const bool is_map = plan_->metrics[metric].is_map();
  const std::size_t groups = grouping_->count(plan_->metrics[metric].entity);
  for (std::uint32_t group = 0; group < groups; ++group) {
    const CellPosition at{side, group, metric};
    // A cgroup without threads only contains descendants, which count separately.
    if (plan_->metrics[metric].entity == Entity::Cgroup &&
        grouping_->sides[side].threads(group) == 0)
      continue;
    if (!is_map) {
      total += finite_magnitude(rollup_->read(at).number);
      continue;
    }
    auto next = parts.begin();
    rollup_->visit_map(at, [&](const MapEntry& part) {
      auto entry = find_with_hint(parts, next, part.key);
      if (entry == parts.end()) entry = parts.emplace(part.key, 0).first;
      entry->second += finite_magnitude(part.number);
      next = std::next(entry);
    });
  }
  totals_[metric] = std::max(totals_[metric], total);
  for (const auto& [key, sum] : parts) {
    double& entry = key_totals_[metric][key];
    entry = std::max(entry, sum);
  }
}

double Order::share(CellPosition at) const {
  return plan_->metrics[at.metric].is_cumulative
             ? share_of(finite_magnitude(rollup_->read(at).number), totals_[at.metric])
             : 0;
}

double Order::relative_change(RowPosition row, const Change& change, std::size_t side) const {
  if (plan_->metrics[row.metric].is_map()) return relative_change_of_map(row, side);
  const Difference& difference = change.difference;
  return difference.is_known() ? share_of(std::fabs(difference.real), totals_[row.metric]) : kNaN;
}

// The relative change of a map is that of the key that changes most.
double Order::relative_change_of_map(RowPosition row, std::size_t side) const {
  double largest = kNaN;
  const KeyTotals& totals = key_totals_[row.metric];
  auto next = totals.begin();
  for (const KeyChange& part : changes_.map_changes(row.group, row.metric, side)) {
    const auto total = find_with_hint(totals, next, part.key);
    // False if only cgroups without threads have the key.
    const bool has_total = total != totals.end();
    if (has_total) next = std::next(total);
    if (!part.difference.is_known()) continue;
    const double key_change =
        share_of(std::fabs(part.difference.real), has_total ? total->second : 0);
    largest = larger_rank(largest, key_change);
  }
  return largest;
}

std::vector<Change> Order::changes_of(RowPosition row) const {
  std::vector<Change> changes;
  for (std::size_t side = 1; side < rollup_->sides(); ++side)
    changes.push_back(changes_.change(row.group, row.metric, side));
  return changes;
}

double Order::rank_of_change(SortKey::Criterion by, RowPosition row,
                             std::span<const Change> changes) const {
  double largest = kNaN;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Change& change = changes[i];
    if (by == SortKey::Criterion::Movers)
      largest = larger_rank(largest, relative_change(row, change, i + 1));
    else if (by == SortKey::Criterion::Percent)
      largest = larger_rank(largest, std::fabs(change.pct));
    else if (change.difference.is_known())
      largest = larger_rank(largest, std::fabs(change.difference.real));
  }
  return largest;
}

double Order::rank(const Key& key, RowPosition row, std::span<const Change> changes) const {
  if (key.by == SortKey::Criterion::Name)
    return key.sign * row.group;  // groups are numbered in the order of their names
  if (key.by == SortKey::Criterion::Metric) return key.sign * metric_rank(key.metric, row);
  if (!changes.empty()) return key.sign * rank_of_change(key.by, row, changes);
  return key.sign * rank_of_change(key.by, row, changes_of(row));
}

// Groups are sorted by the metric's difference under compare, and by its value under show. Metrics
// of the host have no group.
double Order::metric_rank(std::size_t metric, RowPosition row) const {
  if (plan_->metrics[metric].entity == Entity::Host ||
      plan_->metrics[row.metric].entity == Entity::Host)
    return kNaN;
  if (rollup_->sides() == 1) return as_double(rollup_->read({0, row.group, metric}).number);
  double largest = kNaN;
  for (std::size_t side = 1; side < rollup_->sides(); ++side) {
    const Difference difference = changes_.change(row.group, metric, side).difference;
    if (difference.is_known() && !(std::fabs(difference.real) <= std::fabs(largest)))
      largest = difference.real;
  }
  return largest;
}

RankedRow Order::rank_row(RowPosition row, std::span<const Change> changes) const {
  return {keys_.empty() ? 0 : rank(keys_.front(), row, changes), row};
}

bool Order::comes_before(const RankedRow& a, const RankedRow& b) const {
  if (ranks_before(a.rank, b.rank)) return true;
  if (ranks_before(b.rank, a.rank)) return false;
  for (std::size_t i = 1; i < keys_.size(); ++i) {
    const double x = rank(keys_[i], a.row, {}), y = rank(keys_[i], b.row, {});
    if (ranks_before(x, y)) return true;
    if (ranks_before(y, x)) return false;
  }
  return std::pair(a.row.group, a.row.metric) < std::pair(b.row.group, b.row.metric);
}

std::vector<RowPosition> Order::sort_rows(std::vector<RankedRow> rows, std::size_t limit) const {
  const auto by_rank = [&](const RankedRow& a, const RankedRow& b) { return comes_before(a, b); };
  if (limit > 0 && limit < rows.size()) {
    std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(limit), rows.end(),
                      by_rank);
    rows.resize(limit);
  } else {
    std::sort(rows.begin(), rows.end(), by_rank);
  }
  std::vector<RowPosition> order;
  order.reserve(rows.size());
  for (const RankedRow& ranked : rows) order.push_back(ranked.row);
  return order;
}

}  // namespace ctprof
