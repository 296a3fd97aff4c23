// All that is known of one metric, for people and for programs.

#pragma once

#include <string>
#include <vector>

#include "core/registry/registry.hpp"
#include "core/render/text_table.hpp"

namespace ctprof {

// Empty where nobody here knows a metric of that name.
std::string metric_help(const Registry& registry, std::string_view name, const TextLayout& layout);

// The same as one JSON object; null stands for what is not known or has no meaning.
std::string metric_help_json(const Registry& registry, std::string_view name);

// Every name that metric_help knows.
std::vector<std::string> known_metrics(const Registry& registry);

}  // namespace ctprof
