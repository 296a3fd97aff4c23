#include "core/compare/report/families.hpp"

#include <algorithm>
#include <utility>

namespace ctprof {

FamilyCriterion family_criterion_of(const Headline& headline) {
  if (headline.shown == CTPROF_SHOWN_LEVEL) return FamilyCriterion::Range;
  return headline.orders_by_change ? FamilyCriterion::Group : FamilyCriterion::Mean;
}

namespace {

bool is_of_recorder(std::span<const std::vector<ScreenThreads>> threads, std::uint32_t group) {
  double all_threads = 0, own_threads = 0;
  for (const auto& side : threads)
    all_threads += side[group].total(), own_threads += side[group].of_recorder;
  return all_threads > 0 && own_threads == all_threads;
}

// Excludes settings and limits, which are chosen, categories, which are no numbers, and peaks.
bool has_testable_number(const PlannedMetric& metric) {
  return metric.is_shown && !metric.is_omitted && !metric.is_setting && metric.has_number() &&
         metric.family != "categorical" && metric.family != "limit" && metric.family != "peak";
}

}  // namespace

Families::Families(const Rollup& rollup, const MetricPlan& plan, const Grouping& grouping,
                   std::vector<std::optional<SideDesign>> designs,
                   const SignificanceThreshold& threshold)
    : rollup_(&rollup),
      plan_(&plan),
      grouping_(&grouping),
      designs_(std::move(designs)),
      threshold_(threshold) {}

bool Families::can_test() const {
  return std::ranges::any_of(designs_, [](const auto& design) { return design.has_value(); });
}

std::vector<std::uint32_t> Families::groups() const {
  std::vector<std::uint32_t> kept_groups;
  for (std::uint32_t group = 0; group < grouping_->names.size(); ++group) {
    bool is_on_any_side = false;
    for (std::size_t side = 0; side < grouping_->sides.size(); ++side)
      is_on_any_side = is_on_any_side || grouping_->has_group(side, group);
    if (is_on_any_side && (is_of_recorder_.empty() || !is_of_recorder_[group]))
      kept_groups.push_back(group);
  }
  return kept_groups;
}

void Families::add_headlines(std::span<const ScreenColumn> columns,
                             std::span<const std::vector<ScreenThreads>> threads) {
  for (std::uint32_t group = 0; group < grouping_->names.size(); ++group)
    is_of_recorder_.push_back(is_of_recorder(threads, group));
  headlines_ = std::make_unique<Evidence>(test_headlines(columns, designs_));
}

bool Families::are_blocks() const {
  return std::ranges::any_of(
      designs_, [](const auto& design) { return design.has_value() && design->are_blocks; });
}

Evidence Families::test_headlines(std::span<const ScreenColumn> columns,
                                  std::span<const std::optional<SideDesign>> designs,
                                  const std::vector<std::uint32_t>* only_groups) const {
  std::vector<TestedMetric> tested_metrics;
  for (const ScreenColumn& column : columns) {
    const bool is_level = column.headline.shown == CTPROF_SHOWN_LEVEL;
    if (is_level && are_blocks()) continue;
    tested_metrics.push_back({static_cast<std::uint32_t>(column.metric),
                              is_level ? column.floor : column.headline.floor,
                              family_criterion_of(column.headline)});
  }
  return Evidence(*rollup_, *plan_, only_groups ? *only_groups : groups(), tested_metrics, designs,
                  threshold_);
}

void Families::add_about(std::span<const ScreenColumn> columns, std::vector<std::uint32_t> groups) {
  about_groups_ = std::move(groups);
  if (can_test())
    about_ = std::make_unique<Evidence>(test_headlines(columns, designs_, &about_groups_));
}

std::vector<TestedMetric> Families::find_tested_metrics() const {
  std::vector<TestedMetric> tested_metrics;
  for (std::uint32_t at = 0; at < plan_->metrics.size(); ++at) {
    const PlannedMetric& metric = plan_->metrics[at];
    if (!has_testable_number(metric) || (are_blocks() && metric.family == "gauge")) continue;
    const bool has_floor = metric.headline && rollup_->shows_rates();
    const FamilyCriterion entry =
        has_floor ? family_criterion_of(*metric.headline) : FamilyCriterion::Mean;
    tested_metrics.push_back({at, has_floor ? metric.headline->floor : 0, entry});
  }
  return tested_metrics;
}

const Evidence* Families::get_details_evidence() {
  if (!details_ && can_test())
    details_ = std::make_unique<Evidence>(*rollup_, *plan_, groups(), find_tested_metrics(),
                                          designs_, threshold_);
  return details_.get();
}

bool Families::has_significant_detail() {
  if (!has_significant_detail_)
    has_significant_detail_ =
        get_details_evidence() && get_details_evidence()->has_significant_row();
  return *has_significant_detail_;
}

std::optional<RowTestResult> Families::find_result(std::uint32_t group, std::size_t metric,
                                                   std::size_t side) {
  if (!can_test()) return std::nullopt;
  if (headlines_)
    if (auto test_result = headlines_->find_result(group, metric, side)) return test_result;
  return get_details_evidence()->find_result(group, metric, side);
}

}  // namespace ctprof
