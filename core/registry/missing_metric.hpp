// The message about a metric that the input lacks.

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ctprof {

// Names the nearest of `names`, or else the commands that list metrics: "no metric 'x' in the input
// (did you mean 'y'?)".
std::string describe_missing_metric(std::string_view name, std::span<const std::string> names);

}  // namespace ctprof
