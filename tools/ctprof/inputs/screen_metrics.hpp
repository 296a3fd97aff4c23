// Shared by commands that show the first screen: the metrics that it needs, and the command that
// its findings recommend.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/registry/registry.hpp"

namespace ctprof::cli {

// The command that findings about waits recommend.
inline constexpr std::string_view kRecordWaitsCommand = "ctprof record --recorders off-cpu -d 5s";

// Returns the metrics of the screen's columns, of CPU accounting, and the thread state.
inline std::vector<std::string> list_screen_metrics(const Registry& registry) {
  std::vector<std::string> names;
  for (const OfferedMetric& field : registry.offered_metrics())
    if (!field.def->costly && (field.def->headline || !field.def->role.empty()))
      names.push_back(field.def->name);
  for (const DerivedDef& derived : registry.derived_metrics())
    if (derived.headline) names.push_back(derived.name);
  return names;
}

}  // namespace ctprof::cli
