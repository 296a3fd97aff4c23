// What verbs that show the first screen share: the metrics that are read for it again and again,
// and the command that its findings name.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/registry/registry.hpp"

namespace ctprof::cli {

// The command that findings of waits name.
inline constexpr std::string_view kRecordWaits = "ctprof record --recorders off-cpu -d 5s";

// The columns of the screen, what explains the CPU time, and the state.
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
