// ctprof export --to prometheus: writes metrics of groups to a file, or serves them over HTTP.

#pragma once

#include <string_view>

#include "tools/ctprof/commands/export_options.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {

inline constexpr std::string_view kPrometheus = "prometheus";

// Returns whether --metrics contains "all", which is not a metric, and then removes the selection.
bool take_all_keyword(ExportOptions& options);

// Writes the file and prints its name and size, or the error. Returns the exit status.
int export_prometheus(const ExportOptions& options, const Target& target);

// Serves requests on a loopback address until Ctrl-C or SIGTERM. Returns the exit status.
int serve_prometheus(const ExportOptions& options);

}  // namespace ctprof::cli
