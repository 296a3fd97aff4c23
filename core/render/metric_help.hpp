// Everything that is known of one metric, for people and for programs.

#pragma once

#include <string>
#include <string_view>

#include "core/render/metric_catalog.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// Empty if the catalog has no metric of that name.
std::string metric_help(const MetricCatalog& catalog, std::string_view name,
                        const TextLayout& layout);

// The same as one JSON object; null is for what is unknown or has no meaning.
std::string metric_help_json(const MetricCatalog& catalog, std::string_view name);

// Every name that metric_help knows.
std::vector<std::string> known_metrics(const MetricCatalog& catalog);

}  // namespace ctprof
