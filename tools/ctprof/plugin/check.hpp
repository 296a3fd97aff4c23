// ctprof plugin check: loads a plugin in a child process and reports its faults.
//
// The child is `ctprof plugin check-child DIRECTORY PATH`. It has limits on CPU time and
// descriptors. If the user is root and does not pass --as-root, it runs as nobody. This protects
// ctprof from the plugin; it is not a sandbox: the plugin can do everything that its user can do.
//
// Both communicate by text: the child prints one line per finding, prefixed by its kind. Standard
// error receives the output of the plugin and messages of ctprof about a crash.

#pragma once

#include <string_view>

namespace ctprof::cli {

struct PluginCommandOptions;

// Prefixes of lines.
inline constexpr std::string_view kFaultLine = "fault: ";
inline constexpr std::string_view kNoteLine = "note: ";
inline constexpr std::string_view kCostLine = "cost: ";
// The last line of a child that finished.
inline constexpr std::string_view kEndLine = "end";

// REQUIRES: options.arguments begins with the subcommand.
int run_plugin_check(const PluginCommandOptions& options);
// REQUIRES: started by run_plugin_check as a separate process.
int run_plugin_check_child(const PluginCommandOptions& options);

}  // namespace ctprof::cli
