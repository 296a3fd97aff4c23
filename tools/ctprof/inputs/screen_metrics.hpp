// Shared by commands that show the first screen: the metrics that it needs, and the command that
// its findings recommend.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/registry/registry.hpp"

namespace ctprof::cli {

// The command that findings about waits recommend.
inline constexpr std::string_view kRecordWaits = "ctprof record --recorders off-cpu -d 5s";

// Returns the metrics of the screen's columns, of CPU accounting, and the thread state.
inline std::vector<std::string> metrics_of_screen(const Registry& registry) {
  std::vector<std::string> names;
  for (const Field& field : registry.fields())
    if (!field.def->costly && (field.def->headline || !field.def->role.empty()))
      names.push_back(field.def->name);
  for (const DerivedDef& derived : registry.derived())
    if (derived.headline) names.push_back(derived.name);
  return names;
}

}  // namespace ctprof::cli
