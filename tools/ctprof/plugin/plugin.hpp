// ctprof plugin: helps authors of plugins.
//
//   ctprof plugin new NAME     creates a directory with a plugin, its build files and its test
//   ctprof plugin check FILE   loads a plugin in a child process, and reports its faults
//
// See also: plugins.cc of the directory of commands (lists the loaded plugins).

#pragma once

#include "tools/ctprof/plugin/plugin_options.hpp"

namespace ctprof::cli {

// Runs a subcommand. REQUIRES: options.arguments begins with the subcommand.
int run_plugin_new(const PluginCommandOptions& options);

}  // namespace ctprof::cli
