#include "core/compare/evidence/evidence.hpp"

#include <algorithm>
#include <iterator>

namespace ctprof {

Evidence::Evidence(const Rollup& rollup, const MetricPlan& plan,
                   std::span<const std::uint32_t> groups, std::span<const JudgedMetric> metrics,
                   std::span<const std::optional<SideDesign>> designs, const Bar& bar)
    : rollup_(&rollup), plan_(&plan), bar_(bar) {
  for (const auto& design : designs) {
    sides_.emplace_back();
    if (!design) continue;
    std::vector<RowFigures> rows;
    for (const JudgedMetric& metric : metrics)
      std::ranges::move(figures(groups, metric, *design), std::back_inserter(rows));
    sides_.back() = std::make_unique<RowFamily>(std::move(rows), design->design);
  }
}

std::vector<RowFigures> Evidence::figures(std::span<const std::uint32_t> groups,
                                          const JudgedMetric& metric,
                                          const SideDesign& design) const {
  constexpr std::uint32_t kHostRow[] = {0};
  const PlannedMetric& planned = plan_->metrics[metric.metric];
  if (planned.entity == Entity::Host) groups = kHostRow;
  std::vector<RowFigures> rows;
  for (const std::uint32_t group : groups) {
    RowFigures row{group,
                   metric.metric,
                   metric.entry,
                   metric.floor,
                   planned.adds_up || planned.is_sum,
                   rollup_->resolution(metric.metric, design.runs),
                   {}};
    for (const std::size_t run : design.runs)
      row.runs.push_back(rollup_->figure_of_run(run, group, metric.metric));
    if (can_be_judged(row)) rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<Proof> Evidence::of(std::uint32_t group, std::size_t metric, std::size_t side) const {
  if (!sides_[side - 1]) return std::nullopt;
  const RowFamily& its = *sides_[side - 1];
  const Row wanted{group, static_cast<std::uint32_t>(metric)};
  const auto found = std::ranges::lower_bound(its.rows(), wanted);
  if (found == its.rows().end() || *found != wanted) return std::nullopt;
  return proof_of(its.family(), static_cast<std::size_t>(found - its.rows().begin()), bar_);
}

}  // namespace ctprof
