#include "core/compare/report/families.hpp"

#include <algorithm>
#include <utility>

namespace ctprof {

JoinsBy entry_of(const Headline& headline) {
  if (headline.shown == CTPROF_SHOWN_LEVEL) return JoinsBy::Range;
  return headline.by_change ? JoinsBy::Group : JoinsBy::Mean;
}

namespace {

bool is_own(std::span<const std::vector<ScreenThreads>> threads, std::uint32_t group) {
  double all = 0, own = 0;
  for (const auto& side : threads) all += side[group].all(), own += side[group].own;
  return all > 0 && own == all;
}

// Excludes settings and limits, which are chosen, categories, which are no numbers, and peaks.
bool can_be_judged(const PlannedMetric& metric) {
  return metric.shown && !metric.left_out && !metric.setting && metric.has_number() &&
         metric.family != "categorical" && metric.family != "limit" && metric.family != "peak";
}

}  // namespace

Families::Families(const Rollup& rollup, const MetricPlan& plan, const Grouping& grouping,
                   std::vector<std::optional<SideDesign>> designs, const Bar& bar)
    : rollup_(&rollup),
      plan_(&plan),
      grouping_(&grouping),
      designs_(std::move(designs)),
      bar_(bar) {}

bool Families::judge() const {
  return std::ranges::any_of(designs_, [](const auto& design) { return design.has_value(); });
}

std::vector<std::uint32_t> Families::groups() const {
  std::vector<std::uint32_t> kept;
  for (std::uint32_t group = 0; group < grouping_->names.size(); ++group) {
    bool is_there = false;
    for (std::size_t side = 0; side < grouping_->sides.size(); ++side)
      is_there = is_there || grouping_->has(side, group);
    if (is_there && (is_own_.empty() || !is_own_[group])) kept.push_back(group);
  }
  return kept;
}

void Families::add_headlines(std::span<const ScreenColumn> columns,
                             std::span<const std::vector<ScreenThreads>> threads) {
  for (std::uint32_t group = 0; group < grouping_->names.size(); ++group)
    is_own_.push_back(is_own(threads, group));
  headlines_ = std::make_unique<Evidence>(judge_headlines(columns, designs_));
}

bool Families::are_blocks() const {
  return std::ranges::any_of(
      designs_, [](const auto& design) { return design.has_value() && design->are_blocks; });
}

Evidence Families::judge_headlines(std::span<const ScreenColumn> columns,
                                   std::span<const std::optional<SideDesign>> designs,
                                   const std::vector<std::uint32_t>* only) const {
  std::vector<JudgedMetric> judged;
  for (const ScreenColumn& column : columns) {
    const bool is_level = column.headline.shown == CTPROF_SHOWN_LEVEL;
    if (is_level && are_blocks()) continue;
    judged.push_back({static_cast<std::uint32_t>(column.metric),
                      is_level ? column.floor : column.headline.floor, entry_of(column.headline)});
  }
  return Evidence(*rollup_, *plan_, only ? *only : groups(), judged, designs, bar_);
}

void Families::add_about(std::span<const ScreenColumn> columns, std::vector<std::uint32_t> groups) {
  about_groups_ = std::move(groups);
  if (judge())
    about_ = std::make_unique<Evidence>(judge_headlines(columns, designs_, &about_groups_));
}

std::vector<JudgedMetric> Families::shown_metrics() const {
  std::vector<JudgedMetric> judged;
  for (std::uint32_t at = 0; at < plan_->metrics.size(); ++at) {
    const PlannedMetric& metric = plan_->metrics[at];
    if (!can_be_judged(metric) || (are_blocks() && metric.family == "gauge")) continue;
    const bool has_floor = metric.headline && rollup_->tells_rates();
    const JoinsBy entry = has_floor ? entry_of(*metric.headline) : JoinsBy::Mean;
    judged.push_back({at, has_floor ? metric.headline->floor : 0, entry});
  }
  return judged;
}

const Evidence* Families::details() {
  if (!details_ && judge())
    details_ =
        std::make_unique<Evidence>(*rollup_, *plan_, groups(), shown_metrics(), designs_, bar_);
  return details_.get();
}

bool Families::any_detail_proven() {
  if (!is_detail_proven_) is_detail_proven_ = details() && details()->any_proven();
  return *is_detail_proven_;
}

std::optional<Proof> Families::any(std::uint32_t group, std::size_t metric, std::size_t side) {
  if (!judge()) return std::nullopt;
  if (headlines_)
    if (auto proof = headlines_->of(group, metric, side)) return proof;
  return details()->of(group, metric, side);
}

}  // namespace ctprof
