// Describes one metric completely, as text and as JSON.

#pragma once

#include <string>
#include <string_view>

#include "core/render/metric_catalog.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// Returns the page of a metric; empty if the catalog has no metric of that name.
std::string format_metric_help(const MetricCatalog& catalog, std::string_view name,
                               const TextLayout& layout);

// The same as one JSON object; null if a fact is unknown or does not apply.
std::string format_metric_help_json(const MetricCatalog& catalog, std::string_view name);

// Returns the names that format_metric_help() accepts.
std::vector<std::string> list_known_metrics(const MetricCatalog& catalog);

}  // namespace ctprof
