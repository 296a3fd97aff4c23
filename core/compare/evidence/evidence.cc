#include "core/compare/evidence/evidence.hpp"

#include <algorithm>
#include <iterator>

namespace ctprof {

Evidence::Evidence(const Rollup& rollup, const MetricPlan& plan,
                   std::span<const std::uint32_t> groups, std::span<const JudgedMetric> metrics,
                   std::span<const std::optional<SideDesign>> designs, const Bar& bar)
    : rollup_(&rollup), plan_(&plan), designs_(designs.begin(), designs.end()), bar_(bar) {
  for (const auto& design : designs) {
    sides_.emplace_back();
    if (!design) continue;
    std::vector<RowFigures> rows;
    for (const JudgedMetric& metric : metrics)
      std::ranges::move(rows_of(groups, metric, *design), std::back_inserter(rows));
    sides_.back() = std::make_unique<RowFamily>(std::move(rows), design->design, bar.alpha);
  }
}

RowFigures Evidence::figures_of(std::uint32_t group, std::uint32_t metric,
                                const SideDesign& design) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  RowFigures row;
  row.group = group;
  row.metric = metric;
  row.adds_up = planned.adds_up || planned.is_sum;
  row.resolution = rollup_->resolution(metric, design.runs);
  for (const std::size_t run : design.runs)
    row.runs.push_back(rollup_->figure_of_run(run, group, metric));
  return row;
}

std::vector<RowFigures> Evidence::rows_of(std::span<const std::uint32_t> groups,
                                          const JudgedMetric& metric,
                                          const SideDesign& design) const {
  constexpr std::uint32_t kHostRow[] = {0};
  if (plan_->metrics[metric.metric].entity == Entity::Host) groups = kHostRow;
  std::vector<RowFigures> rows;
  for (const std::uint32_t group : groups) {
    RowFigures row = figures_of(group, metric.metric, design);
    row.entry = metric.entry;
    row.floor = metric.floor;
    if (can_be_judged(row)) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::optional<Proof>> Evidence::proofs(std::size_t side) const {
  return sides_[side - 1] ? sides_[side - 1]->proofs(bar_) : std::vector<std::optional<Proof>>();
}

bool Evidence::any_proven() const {
  for (std::size_t side = 1; side <= sides_.size(); ++side)
    for (std::size_t row = 0; row < rows(side).size(); ++row)
      if (const auto proof = small_p(row, side); proof && proof->proven) return true;
  return false;
}

std::size_t Evidence::below_least_shift(std::size_t side) const {
  std::size_t count = 0;
  for (std::size_t row = 0; row < rows(side).size(); ++row)
    if (const auto proof = small_p(row, side)) count += proof->is_below_least_shift(bar_);
  return count;
}

// Computes no intervals for the other rows.
std::optional<Proof> Evidence::small_p(std::size_t row, std::size_t side) const {
  const RowFamily& its = *sides_[side - 1];
  return its.family().p(row) <= bar_.alpha ? its.proof(row, bar_) : std::nullopt;
}

RowFigures Evidence::figures(std::size_t row, std::size_t side) const {
  const RowFamily& its = *sides_[side - 1];
  const auto [group, metric] = its.rows()[row];
  RowFigures figures = figures_of(group, metric, *designs_[side - 1]);
  figures.floor = its.floor(row);
  return figures;
}

std::optional<Proof> Evidence::of(std::uint32_t group, std::size_t metric, std::size_t side) const {
  if (!sides_[side - 1]) return std::nullopt;
  const RowFamily& its = *sides_[side - 1];
  const Row wanted{group, static_cast<std::uint32_t>(metric)};
  const auto found = std::ranges::lower_bound(its.rows(), wanted);
  if (found == its.rows().end() || *found != wanted) return std::nullopt;
  return its.proof(static_cast<std::size_t>(found - its.rows().begin()), bar_);
}

}  // namespace ctprof
