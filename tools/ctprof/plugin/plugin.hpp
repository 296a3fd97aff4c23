// ctprof plugin: helps authors of plugins.
//
//   ctprof plugin new NAME     creates a directory with a plugin, its build files and its test
//   ctprof plugin check FILE   loads a plugin in a child process, and reports its faults
//
// See also: plugins.cc of the parent directory (lists the loaded plugins).

#pragma once

#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

int run_plugin(const Options& options);

// Runs a subcommand. REQUIRES: options.arguments begins with the subcommand.
int run_plugin_new(const Options& options);

}  // namespace ctprof::cli
