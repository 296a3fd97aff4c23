// All that is known of one metric, for people and for programs.

#pragma once

#include <string>
#include <string_view>

#include "core/render/metric_catalog.hpp"
#include "core/render/text_table.hpp"

namespace ctprof {

// Empty where the catalog has no metric of that name.
std::string metric_help(const MetricCatalog& catalog, std::string_view name,
                        const TextLayout& layout);

// The same as one JSON object; null stands for what is not known or has no meaning.
std::string metric_help_json(const MetricCatalog& catalog, std::string_view name);

// Every name that metric_help knows.
std::vector<std::string> known_metrics(const MetricCatalog& catalog);

}  // namespace ctprof
