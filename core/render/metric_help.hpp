// All that is known of one metric, for people.

#pragma once

#include <string>
#include <vector>

#include "core/registry/registry.hpp"
#include "core/render/text_table.hpp"

namespace ctprof {

// Empty where nobody here knows a metric of that name.
std::string metric_help(const Registry& registry, std::string_view name, const TextLayout& layout);

// Every name that metric_help knows.
std::vector<std::string> known_metrics(const Registry& registry);

}  // namespace ctprof
