// The metrics and groups of a report that other tools receive, and the identity of each group.
//
// See also: group_series.hpp (series for Prometheus), core/output (tables for output plugins).

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/report/report.hpp"

namespace ctprof {

// Returns whether a metric is exported. By default only the metrics of the first screen and the
// number of threads are; with `all_metrics`, selected metrics, or rows of an entity, all are. Texts
// and categories are never exported.
bool is_exported(const Report& report, const PlannedMetric& metric, bool all_metrics);

// Returns the names and the values of the identity of a group: {"pcomm"} and {"nginx"}. The host
// has none. The values refer to the report.
std::vector<std::string> get_label_names(const Report& report, Entity entity);
std::vector<std::string_view> get_label_values(const Report& report, Entity entity,
                                               std::uint32_t group);

// Returns the names of the labels that a metric declares for the keys of its map; none if it
// declares none. A name that is also one of the group's gets the prefix "key_".
std::vector<std::string> get_key_label_names(const PlannedMetric& metric,
                                             std::span<const std::string> group_labels);

}  // namespace ctprof
