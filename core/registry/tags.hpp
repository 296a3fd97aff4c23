// Tags: in a word each, which threads have the metric, whether any kernel still fills it, and what
// the kernel must be built with.

#pragma once

#include <string>
#include <vector>

#include "core/registry/metric_def.hpp"

namespace ctprof {

// The scheduling class first, then "dead", then the options of the kernel without their CONFIG_.
std::vector<std::string> tags_of(const MetricDef& def);
std::vector<std::string> tags_of(const DerivedDef& def);

}  // namespace ctprof
