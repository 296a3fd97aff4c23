// ctprof plugin: helps authors of plugins.
//
//   ctprof plugin new NAME     creates a directory with a plugin, its build files and its test
//   ctprof plugin check FILE   loads a plugin in a child process, and reports its faults
//
// See also: plugins.cc of the parent directory (lists the loaded plugins).

#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "tools/ctprof/option_values.hpp"

namespace ctprof::cli {

struct Options;

// The options of this verb alone.
struct PluginOptions {
  std::string language = "c++";   // of `new`: a name in plugin_languages()
  std::string source = "thread";  // of `new`: a name in plugin_sources()
  bool as_root = false;           // of `check`: do not become nobody
};

// The error is one sentence that names the valid choices.
Result<PluginOptions> read_plugin_options(const OptionValues& given);

int run_plugin(const Options& options);

// The subcommands; REQUIRES: options.arguments begins with the subcommand.
int run_plugin_new(const Options& options);

}  // namespace ctprof::cli
