#include "core/compare/evidence/evidence.hpp"

#include <algorithm>
#include <iterator>

namespace ctprof {

Evidence::Evidence(const Rollup& rollup, const MetricPlan& plan,
                   std::span<const std::uint32_t> groups, std::span<const TestedMetric> metrics,
                   std::span<const std::optional<SideDesign>> designs,
                   const SignificanceThreshold& threshold)
    : rollup_(&rollup),
      plan_(&plan),
      designs_(designs.begin(), designs.end()),
      threshold_(threshold) {
  for (const auto& design : designs) {
    sides_.emplace_back();
    if (!design) continue;
    std::vector<RowFigures> rows;
    for (const TestedMetric& metric : metrics)
      std::ranges::move(make_rows(groups, metric, *design), std::back_inserter(rows));
    sides_.back() = std::make_unique<RowFamily>(std::move(rows), design->design, threshold.alpha);
  }
}

RowFigures Evidence::row_figures(std::uint32_t group, std::uint32_t metric,
                                 const SideDesign& design) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  RowFigures row;
  row.group = group;
  row.metric = metric;
  row.is_additive = planned.is_cumulative || planned.is_sum;
  row.resolution = rollup_->resolution(metric, design.runs);
  for (const std::size_t run : design.runs)
    row.runs.push_back(rollup_->number_of_run(run, group, metric));
  return row;
}

std::vector<RowFigures> Evidence::make_rows(std::span<const std::uint32_t> groups,
                                            const TestedMetric& metric,
                                            const SideDesign& design) const {
  constexpr std::uint32_t kHostRow[] = {0};
  if (plan_->metrics[metric.metric].entity == Entity::Host) groups = kHostRow;
  std::vector<RowFigures> rows;
  for (const std::uint32_t group : groups) {
    RowFigures row = row_figures(group, metric.metric, design);
    row.criterion = metric.entry;
    row.floor = metric.floor;
    if (can_be_tested(row)) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::optional<RowTestResult>> Evidence::results(std::size_t side) const {
  return sides_[side - 1] ? sides_[side - 1]->results(threshold_)
                          : std::vector<std::optional<RowTestResult>>();
}

bool Evidence::has_significant_row() const {
  for (std::size_t side = 1; side <= sides_.size(); ++side)
    for (std::size_t row = 0; row < rows(side).size(); ++row)
      if (const auto test_result = result_if_p_small(row, side);
          test_result && test_result->is_significant)
        return true;
  return false;
}

std::size_t Evidence::count_below_min_shift(std::size_t side) const {
  std::size_t count = 0;
  for (std::size_t row = 0; row < rows(side).size(); ++row)
    if (const auto test_result = result_if_p_small(row, side))
      count += test_result->is_below_min_shift(threshold_);
  return count;
}

// Returns no result for a row with a large p, because its interval takes long to compute.
std::optional<RowTestResult> Evidence::result_if_p_small(std::size_t row, std::size_t side) const {
  const RowFamily& row_family = *sides_[side - 1];
  return row_family.family().get_p(row) <= threshold_.alpha ? row_family.result(row, threshold_)
                                                            : std::nullopt;
}

RowFigures Evidence::figures(std::size_t row, std::size_t side) const {
  const RowFamily& row_family = *sides_[side - 1];
  const auto [group, metric] = row_family.rows()[row];
  RowFigures figures = row_figures(group, metric, *designs_[side - 1]);
  figures.floor = row_family.floor(row);
  return figures;
}

std::optional<RowTestResult> Evidence::find_result(std::uint32_t group, std::size_t metric,
                                                   std::size_t side) const {
  if (!sides_[side - 1]) return std::nullopt;
  const RowFamily& row_family = *sides_[side - 1];
  const Row key{group, static_cast<std::uint32_t>(metric)};
  const auto found = std::ranges::lower_bound(row_family.rows(), key);
  if (found == row_family.rows().end() || *found != key) return std::nullopt;
  return row_family.result(static_cast<std::size_t>(found - row_family.rows().begin()), threshold_);
}

}  // namespace ctprof
