#include "core/compare/figures/chosen_metrics.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.hpp"
#include "core/compare/figures/left_out.hpp"

namespace ctprof {
namespace {

// The error suggests the nearest name among the plan's metrics and `names`.
Error unknown_metric(const MetricPlan& plan, const std::string& name,
                     std::vector<std::string> names = {}) {
  for (const PlannedMetric& metric : plan.metrics)
    if (metric.total_of.empty()) names.push_back(metric.name);
  return {"no metric '" + name + "' in what was read" + nearest_hint(name, names)};
}

// Returns whether one of the plugins filled the metric, or an input of a derived metric, on some
// side.
bool is_from(const MetricPlan& plan, const PlannedMetric& metric,
             std::span<const Snapshot* const> sides, const std::vector<std::string>& plugins) {
  if (metric.counts_rows) return true;
  for (const Snapshot* side : sides)
    if (const Column* column = metric.rule ? side->table(metric.entity).find(metric.name) : nullptr;
        column &&
        std::find(plugins.begin(), plugins.end(), column->provenance.plugin) != plugins.end())
      return true;
  return std::any_of(metric.inputs.begin(), metric.inputs.end(), [&](const auto& input) {
    return input && is_from(plan, plan.metrics[*input], sides, plugins);
  });
}

template <class Known>
Result<void> check_names(std::string_view what, const std::vector<std::string>& wanted,
                         const Known& known) {
  for (const std::string& name : wanted)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return Error{"no " + std::string(what) + " '" + name + "' in what was read" +
                   nearest_hint(name, known)};
  return {};
}

std::vector<std::string> sections_of(const MetricPlan& plan) {
  std::set<std::string> sections;
  for (const SectionInfo& section : kSections) sections.emplace(section.name);
  for (const PlannedMetric& metric : plan.metrics) sections.insert(metric.section);
  return {sections.begin(), sections.end()};
}

std::vector<std::string> plugins_in(std::span<const Snapshot* const> sides) {
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
bool is_wanted(const std::vector<T>& wanted, const T& name) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

// Metrics of stacks also belong to the section of stacks.
bool is_in_sections(const std::vector<std::string>& wanted, const PlannedMetric& metric) {
  return is_wanted(wanted, metric.section) ||
         (metric.has_stacks && is_wanted(wanted, std::string(kStacksSection)));
}

Error missing(const MetricPlan& plan, std::span<const Snapshot* const> sides,
              const std::string& name) {
  const auto left_out = left_out_of_all(sides);
  const std::string metric = name.substr(0, name.find('['));
  if (std::ranges::find(left_out, metric) == left_out.end()) return unknown_metric(plan, name);
  return {"'" + metric +
          "' was not recorded, because it is expensive to read: " + kHowToReadCostly};
}

Result<void> keep_only(MetricPlan& plan, std::span<const Snapshot* const> sides, const Spec& spec) {
  for (const std::string& name : spec.metrics)
    if (!plan.find(name)) return missing(plan, sides, name);
  if (auto known = check_names("section", spec.sections, sections_of(plan)); !known)
    return known.error();
  if (auto known = check_names("plugin", spec.plugins, plugins_in(sides)); !known)
    return known.error();
  for (PlannedMetric& metric : plan.metrics)
    metric.shown = metric.total_of.empty() && is_wanted(spec.metrics, metric.name) &&
                   !(metric.key && spec.metrics.empty()) && is_in_sections(spec.sections, metric) &&
                   (spec.plugins.empty() || is_from(plan, metric, sides, spec.plugins));
  return {};
}

Result<void> check_sort(const MetricPlan& plan, const Spec& spec, ReportKind kind) {
  for (const SortKey& key : spec.sort) {
    if (key.by != SortKey::By::Metric || names_groups(key.metric, spec)) continue;
    const PlannedMetric* metric = sorted_metric(plan, key.metric);
    if (!metric) {
      Error error = unknown_metric(plan, key.metric, sort_words(kind));
      return Error{"sorting: " + error.text};
    }
    if (!metric->has_number())
      return Error{"sorting: '" + key.metric + "' is not a number, so nothing can be sorted by it"};
  }
  return {};
}

}  // namespace

const PlannedMetric* sorted_metric(const MetricPlan& plan, std::string_view word) {
  if (const PlannedMetric* metric = plan.find(word)) return metric;
  if (const PlannedMetric* metric = plan.find_column(word)) return metric;
  const auto count = std::ranges::find_if(plan.metrics, &PlannedMetric::counts_rows);
  return word == kThreadsColumn && count != plan.metrics.end() ? &*count : nullptr;
}

std::vector<SortKey> keys_of_metrics(const MetricPlan& plan, const Spec& spec) {
  std::vector<SortKey> keys = spec.sort;
  for (SortKey& key : keys) {
    if (key.by != SortKey::By::Metric) continue;
    if (names_groups(key.metric, spec))
      key = {SortKey::By::Name, {}, !key.ascending};
    else if (const PlannedMetric* metric = sorted_metric(plan, key.metric))
      key.metric = metric->name;
  }
  return keys;
}

Result<void> choose_metrics(MetricPlan& plan, std::span<const Snapshot* const> sides,
                            const Spec& spec) {
  if (auto known = keep_only(plan, sides, spec); !known) return known.error();
  const ReportKind kind =
      sides_of(spec, sides.size()).size() == 1 ? ReportKind::Show : ReportKind::Compare;
  return check_sort(plan, spec, kind);
}

}  // namespace ctprof
