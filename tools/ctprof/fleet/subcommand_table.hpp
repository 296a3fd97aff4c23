// The subcommands of `ctprof fleet`, for its help.

#pragma once

#include <span>
#include <string_view>

namespace ctprof::cli {

// A query of the package.
struct FleetSubcommand {
  std::string_view name, arguments, summary;
};
std::span<const FleetSubcommand> fleet_subcommands();

}  // namespace ctprof::cli
