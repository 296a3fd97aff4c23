#include "core/tables/exported_groups.hpp"

#include <algorithm>

#include "core/registry/map_labels.hpp"

namespace ctprof {
namespace {

constexpr const char* kKeyLabelPrefix = "key_";

std::string get_axis_label(const Spec& spec) {
  switch (spec.group_by) {
    case GroupBy::CommExact: return "comm";
    case GroupBy::Pid: return "process";
    default: return std::string(axis_word(spec));
  }
}

// Returns the names of identity columns without the entity: "device" for "disk.device".
std::vector<std::string> strip_entity(const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  for (const std::string& column : columns)
    names.push_back(column.substr(column.rfind('.') + 1));  // npos + 1 is 0
  return names;
}

}  // namespace

bool is_exported(const Report& report, const PlannedMetric& metric, bool all_metrics) {
  if (!metric.is_shown || metric.is_omitted || metric.family == "categorical" ||
      metric.family == "identity")
    return false;
  if (!report.spec().metrics.empty() || all_metrics || report.spec().group_by == GroupBy::Entity)
    return true;
  return metric.headline || metric.counts_rows;
}

std::vector<std::string> get_label_names(const Report& report, Entity entity) {
  if (entity == Entity::Host) return {};
  switch (report.spec().group_by) {
    case GroupBy::Entity:
      return strip_entity(
          report.sides().front().identity_columns[static_cast<std::size_t>(entity)]);
    case GroupBy::All: return {"cgroup", "pcomm", "comm"};
    default: return {get_axis_label(report.spec())};
  }
}

std::vector<std::string_view> get_label_values(const Report& report, Entity entity,
                                               std::uint32_t group) {
  if (entity == Entity::Host) return {};
  auto values = key_parts(report.grouping().names[group]);
  values.resize(std::min(values.size(), get_label_names(report, entity).size()));
  return values;
}

std::vector<std::string> get_key_label_names(const PlannedMetric& metric,
                                             std::span<const std::string> group_labels) {
  std::vector<std::string> names;
  const auto is_taken = [&](const std::string& name) {
    return std::ranges::count(group_labels, name) + std::ranges::count(names, name) > 0;
  };
  for (const std::string_view label : label_names(metric.labels)) {
    std::string name(label);
    while (is_taken(name)) name = kKeyLabelPrefix + name;
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace ctprof
