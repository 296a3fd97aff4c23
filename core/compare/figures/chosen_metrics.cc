#include "core/compare/figures/chosen_metrics.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.hpp"
#include "core/compare/figures/uncaptured_metrics.hpp"
#include "core/registry/missing_metric.hpp"

namespace ctprof {
namespace {

// The error suggests the nearest name among the plan's metrics and `names`.
Error unknown_metric_error(const MetricPlan& plan, const std::string& name,
                           std::vector<std::string> names = {}) {
  for (const PlannedMetric& metric : plan.metrics)
    if (metric.counter_of_total.empty()) names.push_back(metric.name);
  return {describe_missing_metric(name, names)};
}

// Returns whether one of the plugins filled the metric, or an input of a derived metric, on some
// side.
bool is_filled_by(const MetricPlan& plan, const PlannedMetric& metric,
                  std::span<const Snapshot* const> sides, const std::vector<std::string>& plugins) {
  if (metric.counts_rows) return true;
  for (const Snapshot* side : sides)
    if (const Column* column = metric.rule ? side->table(metric.entity).find(metric.name) : nullptr;
        column &&
        std::find(plugins.begin(), plugins.end(), column->provenance.plugin) != plugins.end())
      return true;
  return std::any_of(metric.inputs.begin(), metric.inputs.end(), [&](const auto& input) {
    return input && is_filled_by(plan, plan.metrics[*input], sides, plugins);
  });
}

template <class KnownNames>
Result<void> check_names(std::string_view kind, const std::vector<std::string>& requested,
                         const KnownNames& known_names) {
  for (const std::string& name : requested)
    if (std::find(known_names.begin(), known_names.end(), name) == known_names.end())
      return Error{"no " + std::string(kind) + " '" + name + "' in the input" +
                   suggest_nearest(name, known_names)};
  return {};
}

std::vector<std::string> known_sections(const MetricPlan& plan) {
  std::set<std::string> sections;
  for (const SectionInfo& section : kSections) sections.emplace(section.name);
  for (const PlannedMetric& metric : plan.metrics) sections.insert(metric.section);
  return {sections.begin(), sections.end()};
}

std::vector<std::string> known_plugins(std::span<const Snapshot* const> sides) {
  std::set<std::string> plugins;
  for (const Snapshot* side : sides) {
    for (const SourceCost& source : side->meta.sources) plugins.insert(source.plugin);
    for (const Table& table : side->tables)
      for (const Column& column : table.columns)
        if (column.def().family != "identity") plugins.insert(column.provenance.plugin);
  }
  plugins.erase("");
  return {plugins.begin(), plugins.end()};
}

template <class T>
bool is_selected(const std::vector<T>& requested, const T& name) {
  return requested.empty() ||
         std::find(requested.begin(), requested.end(), name) != requested.end();
}

// Metrics of stacks also belong to the section of stacks.
bool is_in_sections(const std::vector<std::string>& requested, const PlannedMetric& metric) {
  return is_selected(requested, metric.section) ||
         (metric.has_stacks && is_selected(requested, std::string(kStacksSection)));
}

Error missing_metric_error(const MetricPlan& plan, std::span<const Snapshot* const> sides,
                           const std::string& name) {
  const auto uncaptured = find_uncaptured_metrics(sides);
  const std::string metric = name.substr(0, name.find('['));
  if (std::ranges::find(uncaptured, metric) == uncaptured.end())
    return unknown_metric_error(plan, name);
  return {"'" + metric +
          "' was not recorded, because it is expensive to read: " + kHowToReadExpensive};
}

Result<void> select_shown(MetricPlan& plan, std::span<const Snapshot* const> sides,
                          const Spec& spec) {
  for (const std::string& name : spec.metrics)
    if (!plan.find(name)) return missing_metric_error(plan, sides, name);
  CTPROF_TRY(check_names("section", spec.sections, known_sections(plan)));
  CTPROF_TRY(check_names("plugin", spec.plugins, known_plugins(sides)));
  for (PlannedMetric& metric : plan.metrics)
    metric.is_shown = metric.counter_of_total.empty() && is_selected(spec.metrics, metric.name) &&
                      !(metric.key && spec.metrics.empty()) &&
                      is_in_sections(spec.sections, metric) &&
                      (spec.plugins.empty() || is_filled_by(plan, metric, sides, spec.plugins));
  return {};
}

Result<void> check_sort(const MetricPlan& plan, const Spec& spec, ReportKind kind) {
  for (const SortKey& key : spec.sort) {
    if (key.by != SortKey::Criterion::Metric || is_group_column_name(key.metric, spec)) continue;
    const PlannedMetric* metric = find_sort_metric(plan, key.metric);
    if (!metric) {
      std::vector<std::string> names = sort_words(kind);
      for (const PlannedMetric& column : plan.metrics)
        if (column.headline) names.push_back(column.headline->label);
      return Error{"--sort-by: " + unknown_metric_error(plan, key.metric, std::move(names)).text};
    }
    if (!metric->has_number())
      return Error{"--sort-by: '" + key.metric +
                   "' is not a number; sort by a metric that is a number"};
  }
  return {};
}

}  // namespace

const PlannedMetric* find_sort_metric(const MetricPlan& plan, std::string_view word) {
  if (const PlannedMetric* metric = plan.find(word)) return metric;
  if (const PlannedMetric* metric = plan.find_column(word)) return metric;
  const auto count = std::ranges::find_if(plan.metrics, &PlannedMetric::counts_rows);
  return word == kThreadsColumn && count != plan.metrics.end() ? &*count : nullptr;
}

std::vector<SortKey> resolve_sort_keys(const MetricPlan& plan, const Spec& spec) {
  std::vector<SortKey> keys = spec.sort;
  for (SortKey& key : keys) {
    if (key.by != SortKey::Criterion::Metric) continue;
    if (is_group_column_name(key.metric, spec))
      key = {SortKey::Criterion::Name, {}, !key.ascending};
    else if (const PlannedMetric* metric = find_sort_metric(plan, key.metric))
      key.metric = metric->name;
  }
  return keys;
}

Result<void> choose_metrics(MetricPlan& plan, std::span<const Snapshot* const> sides,
                            const Spec& spec) {
  CTPROF_TRY(select_shown(plan, sides, spec));
  const ReportKind kind =
      divide_into_sides(spec, sides.size()).size() == 1 ? ReportKind::Show : ReportKind::Compare;
  return check_sort(plan, spec, kind);
}

}  // namespace ctprof
