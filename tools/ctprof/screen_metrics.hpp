// Which metrics are read for who wants the first screen, again and again.

#pragma once

#include <string>
#include <vector>

#include "core/registry/registry.hpp"

namespace ctprof::cli {

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
