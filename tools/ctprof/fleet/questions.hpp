// The questions of `ctprof fleet`, for its help.

#pragma once

#include <span>
#include <string_view>

namespace ctprof::cli {

// A query of the package.
struct FleetQuestion {
  std::string_view name, arguments, what;
};
std::span<const FleetQuestion> fleet_questions();

}  // namespace ctprof::cli
