#include "core/compare/order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

namespace ctprof {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Both infinite and missing numbers stay out of sums.
double weight(const ctprof_number& number) {
  const double value = std::fabs(as_double(number));
  return std::isfinite(value) ? value : 0;
}

// The larger first; NaN last.
bool ranks_before(double a, double b) { return !std::isnan(a) && (std::isnan(b) || a > b); }

double share_of(double part, double total) { return total > 0 ? part / total : 0; }

using PartTotals = std::map<std::string, double, std::less<>>;

void add_to(PartTotals& totals, std::string_view key, double value) {
  const auto known = totals.find(key);
  if (known == totals.end())
    totals.emplace(key, value);
  else
    known->second += value;
}

}  // namespace

// A row with what its first key makes of it, because that decides nearly always.
struct Order::Ranked {
  double first;
  RowAt row;
};

Order::Order(const Rollup& rollup, const Grouping& grouping, const MetricPlan& plan, std::span<const SortKey> keys)
    : rollup_(&rollup), grouping_(&grouping), plan_(&plan), changes_(rollup, plan) {
  for (const SortKey& key : keys) {
    const PlannedMetric* metric = plan.find(key.metric);
    keys_.push_back({key.by, key.ascending ? -1.0 : 1.0, metric ? static_cast<std::size_t>(metric - plan.metrics.data()) : 0});
  }
  const std::size_t metrics = plan.metrics.size();
  totals_.resize(metrics);
  part_totals_.resize(metrics);
  for (std::size_t metric = 0; metric < metrics; ++metric)
    for (std::size_t side = 0; side < grouping.sides.size(); ++side) add_totals(side, metric);
}

void Order::add_totals(std::size_t side, std::size_t metric) {
  double total = 0;
  PartTotals parts;
  const std::size_t groups = grouping_->count(plan_->metrics[metric].entity);
  for (std::uint32_t group = 0; group < groups; ++group) {
    const CellAt at{side, group, metric};
    total += weight(rollup_->number(at));
    rollup_->parts(at, [&](const Part& part) { add_to(parts, part.key, weight(part.number)); });
  }
  totals_[metric] = std::max(totals_[metric], total);
  for (const auto& [key, sum] : parts) {
    double& known = part_totals_[metric][key];
    known = std::max(known, sum);
  }
}

double Order::share(CellAt at) const { return share_of(weight(rollup_->number(at)), totals_[at.metric]); }

double Order::movement(RowAt row) const {
  if (rollup_->has_parts(row.metric)) return movement_of_parts(row);
  const Difference difference = changes_.of(row.group, row.metric).difference;
  return difference.known() ? share_of(std::fabs(difference.real), totals_[row.metric]) : kNone;
}

// A map moved as far as the key that moved most.
double Order::movement_of_parts(RowAt row) const {
  double most = kNone;
  for (const PartChange& part : changes_.parts(row.group, row.metric)) {
    if (!part.difference.known()) continue;
    const double moved = share_of(std::fabs(part.difference.real), part_totals_[row.metric].find(part.key)->second);
    most = std::isnan(most) ? moved : std::max(most, moved);
  }
  return most;
}

double Order::rank(const Key& key, RowAt row) const {
  switch (key.by) {
    case SortKey::By::Movers: return key.sign * movement(row);
    case SortKey::By::Delta: {
      const Difference difference = changes_.of(row.group, row.metric).difference;
      return difference.known() ? key.sign * std::fabs(difference.real) : kNone;
    }
    case SortKey::By::Percent: return key.sign * std::fabs(changes_.of(row.group, row.metric).pct);
    case SortKey::By::Name: return key.sign * row.group;  // groups are numbered in the order of their names
    case SortKey::By::Metric: return key.sign * metric_rank(key.metric, row);
  }
  return kNone;
}

// Groups go by what the metric did under compare, by what it is under show. The host's metrics have no such groups.
double Order::metric_rank(std::size_t metric, RowAt row) const {
  if (plan_->metrics[metric].entity == Entity::Host || plan_->metrics[row.metric].entity == Entity::Host) return kNone;
  if (grouping_->sides.size() == 1) return as_double(rollup_->number({0, row.group, metric}));
  const Difference difference = changes_.of(row.group, metric).difference;
  return difference.known() ? difference.real : kNone;
}

bool Order::before(const Ranked& a, const Ranked& b) const {
  if (ranks_before(a.first, b.first)) return true;
  if (ranks_before(b.first, a.first)) return false;
  for (std::size_t i = 1; i < keys_.size(); ++i) {
    const double x = rank(keys_[i], a.row), y = rank(keys_[i], b.row);
    if (ranks_before(x, y)) return true;
    if (ranks_before(y, x)) return false;
  }
  return std::pair(a.row.group, a.row.metric) < std::pair(b.row.group, b.row.metric);
}

void Order::sort(std::vector<RowAt>& rows, std::size_t limit) const {
  std::vector<Ranked> ranked;
  ranked.reserve(rows.size());
  for (const RowAt row : rows) ranked.push_back({keys_.empty() ? 0 : rank(keys_.front(), row), row});
  const std::size_t kept = limit == 0 ? rows.size() : std::min(limit, rows.size());
  const auto by_rank = [&](const Ranked& a, const Ranked& b) { return before(a, b); };
  if (kept < rows.size())
    std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(kept), ranked.end(), by_rank);
  else
    std::sort(ranked.begin(), ranked.end(), by_rank);
  rows.resize(kept);
  std::transform(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(kept), rows.begin(),
                 [](const Ranked& r) { return r.row; });
}

}  // namespace ctprof
