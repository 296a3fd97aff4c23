#include "core/compare/report/capture_figures.hpp"
#include "core/compare/figures/plan_metrics.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "core/base/seeded_hash.hpp"
#include "core/compare/figures/allowance.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/compare/grouping/key_families.hpp"
#include "core/compare/grouping/row_grouper.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kThreadRows = static_cast<std::size_t>(Entity::Thread);
constexpr std::size_t kCgroupRows = static_cast<std::size_t>(Entity::Cgroup);

// Marks metrics without a number, which an index does not reduce.
std::vector<bool> find_metrics_without_number(const MetricPlan& plan) {
  std::vector<bool> found;
  for (const PlannedMetric& metric : plan.metrics) found.push_back(!metric.has_number());
  return found;
}

Result<MetricPlan> plan_capture(const Snapshot& capture, Spec spec,
                                const PluginDefinitions& plugin_definitions) {
  const Snapshot* const side = &capture;
  spec.busiest = false;
  return plan_metrics({&side, 1}, spec, plugin_definitions);
}

// Returns whether one of the paths is an ancestor of this path.
bool has_ancestor_in(const std::unordered_set<std::string_view, SeededHash>& paths,
                     std::string_view path) {
  if (path != "/" && paths.contains("/")) return true;
  for (auto end = path.rfind('/'); end != path.npos && end > 0; end = path.rfind('/', end - 1))
    if (paths.contains(path.substr(0, end))) return true;
  return false;
}

// Assigns the cgroups without ancestors to group 0, and the others to no group.
std::vector<std::uint32_t> group_topmost_cgroups(const Snapshot& capture) {
  const Table& table = capture.table(Entity::Cgroup);
  std::vector<std::uint32_t> groups(table.rows, kNoGroup);
  const Column* column = table.find(kCgroupPath);
  if (!column || column->def().storage != Storage::String) return groups;
  const auto path_of = [&](std::size_t row) { return capture.pools->texts[column->ids()[row]]; };
  std::unordered_set<std::string_view, SeededHash> paths;
  for (std::size_t row = 0; row < table.rows; ++row)
    if (column->has_value(row)) paths.insert(path_of(row));
  for (std::size_t row = 0; row < table.rows; ++row)
    if (column->has_value(row) && !has_ancestor_in(paths, path_of(row))) groups[row] = 0;
  return groups;
}

bool has_definitions(const Snapshot& capture, std::span<const SharedMetric> definitions) {
  auto next = definitions.begin();
  for (const Table& table : capture.tables)
    for (const Column& column : table.columns)
      if (next == definitions.end() || !(column.shared_def() == *next++)) return false;
  return next == definitions.end();
}

}  // namespace

CapturePlan::Definitions CapturePlan::definitions_of(const Snapshot& capture) {
  Definitions found;
  for (const Table& table : capture.tables)
    for (const Column& column : table.columns) found.push_back(column.shared_def());
  return found;
}

Result<CapturePlan> CapturePlan::make(const Snapshot& capture, const Spec& spec,
                                      const PluginDefinitions& plugin_definitions) {
  const Snapshot* const side = &capture;
  CTPROF_TRY(check_axis({&side, 1}, spec));
  CTPROF_TRY_VALUE(auto metrics, plan_capture(capture, spec, plugin_definitions));
  CTPROF_TRY_VALUE(auto cgroup_plan,
                   plan_capture(capture, Spec{.group_by = GroupBy::Cgroup}, plugin_definitions));
  CapturePlan plan;
  plan.spec_ = spec;
  plan.metrics_ = std::move(metrics);
  plan.cgroup_metrics_ = std::move(cgroup_plan);
  for (const bool is_cgroups : {false, true}) {
    const auto& all = (is_cgroups ? plan.cgroup_metrics_ : plan.metrics_).metrics;
    for (std::size_t at = 0; at < all.size(); ++at)
      if (all[at].has_number() && all[at].counter_of_total.empty() &&
          (all[at].entity == Entity::Cgroup) == is_cgroups)
        plan.numeric_metrics_.push_back({is_cgroups, at});
  }
  for (const ScreenColumn& column : screen_columns(plan.metrics_).columns)
    plan.headlines_.push_back(column.metric);
  plan.definitions_ = definitions_of(capture);
  plan.derived_ = capture.derived;
  for (const DerivedDef& derived : plan.derived_) plan.derived_bytes_ += derived.expression.size();
  plan.is_window_ = capture.window.has_value();
  plan.is_reusable_ = !capture.is_foreign && plan.is_cheap_for(capture);
  return plan;
}

// The size of an expensive file determines which of its metrics are omitted. So only plans of files
// far below the limit are reused.
bool CapturePlan::is_cheap_for(const Snapshot& capture) const {
  constexpr std::size_t kWork = std::size_t{1} << 26;
  std::size_t most_rows = 1;
  for (const Table& table : capture.tables) most_rows = std::max(most_rows, table.rows);
  return derived_bytes_ < kWork / most_rows;
}

bool CapturePlan::is_valid_for(const Snapshot& capture) const {
  return is_reusable_ && is_window_ == capture.window.has_value() && !capture.is_foreign &&
         is_cheap_for(capture) && has_definitions(capture, definitions_) &&
         capture.derived == derived_;
}

const std::string& CapturePlan::newtype(const PlannedMetric& metric) const {
  static const std::string none;
  const auto found = std::ranges::find_if(
      definitions_, [&](const SharedMetric& def) { return def->name == metric.name; });
  return found == definitions_.end() ? none : (*found)->newtype;
}

CaptureFigures::CaptureFigures(const Snapshot& capture, const CapturePlan& plan) : plan_(&plan) {
  RowGrouper grouper(plan.spec());
  RowGroups rows = grouper.add(capture);
  const auto names = grouper.keys(), patterns = grouper.patterns();
  for (const std::uint32_t key : rows.groups.keys) {
    names_.push_back(readable_key(names[key]));
    patterns_.push_back(readable_key(patterns[key]));
  }
  is_of_recorder_.resize(names_.size());
  if (capture.window) {
    const auto threads =
        count_screen_threads({&capture, rows.group_of_row[kThreadRows]}, names_.size());
    for (std::size_t group = 0; group < names_.size(); ++group)
      is_of_recorder_[group] =
          threads[group].of_recorder > 0 && threads[group].of_recorder == threads[group].total();
  }
  CommonStacks stacks;
  std::vector<std::uint32_t> numbers;
  if (plan.metrics().has_stacks() || plan.cgroup_metrics().has_stacks())
    numbers = stacks.add(capture.pools->stacks.table);
  reduce(capture, std::move(rows), {&stacks, numbers});
  reduce_cgroups(capture, {&stacks, numbers});
}

// Reduces the groups; an additional last group contains all rows.
void CaptureFigures::reduce(const Snapshot& capture, RowGroups rows, const RunStackNumbers& nodes) {
  const MetricPlan& plan = plan_->metrics();
  std::vector<bool> is_omitted = ExpensiveMetricFilter(plan, plan_->spec(), {})
                                     .find_for_run(rows.groups, capture.text_bytes, 1);
  omitted_metrics_ = static_cast<std::size_t>(std::ranges::count(is_omitted, true));
  const std::vector<bool> without_number = find_metrics_without_number(plan);
  for (std::size_t at = 0; at < is_omitted.size(); ++at)
    if (without_number[at]) is_omitted[at] = true;
  const auto groups = static_cast<std::uint32_t>(rows.groups.keys.size());
  rows.groups.keys.push_back(kNoGroup);
  rows.groups.threads.push_back(0);
  for (const Entity entity : grouped_entities())
    rows.groups.rows_of[static_cast<std::size_t>(entity)].push_back(0);
  figures_.emplace(capture, rows, plan, is_omitted, nodes);
  for (std::uint32_t group = 0; group < groups; ++group) figures_->merge_groups(groups, group);
  figures_->finish();
}

void CaptureFigures::reduce_cgroups(const Snapshot& capture, const RunStackNumbers& nodes) {
  const MetricPlan& plan = plan_->cgroup_metrics();
  std::vector<bool> is_omitted = find_metrics_without_number(plan);
  for (std::size_t at = 0; at < is_omitted.size(); ++at)
    if (plan.metrics[at].entity != Entity::Cgroup) is_omitted[at] = true;
  RowGroups rows;
  rows.groups.keys = {0};
  rows.groups.threads = {0};
  for (std::size_t entity = 0; entity < kEntities; ++entity) {
    rows.group_of_row[entity].assign(capture.tables[entity].rows, kNoGroup);
    rows.groups.rows_of[entity] = {0};
  }
  rows.group_of_row[kCgroupRows] = group_topmost_cgroups(capture);
  rows.groups.rows_of[kCgroupRows] = {
      static_cast<std::uint32_t>(std::ranges::count(rows.group_of_row[kCgroupRows], 0u))};
  cgroup_figures_.emplace(capture, rows, plan, is_omitted, nodes);
  cgroup_figures_->finish();
}

ctprof_number CaptureFigures::value(std::uint32_t group, std::size_t metric) const {
  if (figures_->coverage(group, metric).rows == 0 && figures_->counts_absence_as_zero(metric))
    return make_number(std::uint64_t{0});
  return figures_->read(group, metric).number;
}

// The host has one group on every axis.
std::uint32_t CaptureFigures::total_group(const PlannedMetric& metric) const {
  return metric.entity == Entity::Host ? 0 : static_cast<std::uint32_t>(names_.size());
}

ctprof_number CaptureFigures::total(const CapturePlan::NumericMetric& metric) const {
  if (metric.is_of_cgroups) return cgroup_figures_->read(0, metric.metric).number;
  return figures_->read(total_group(plan_->planned_metric(metric)), metric.metric).number;
}

Coverage CaptureFigures::coverage(const CapturePlan::NumericMetric& metric) const {
  if (metric.is_of_cgroups) return cgroup_figures_->coverage(0, metric.metric);
  return figures_->coverage(total_group(plan_->planned_metric(metric)), metric.metric);
}

}  // namespace ctprof
