// Finding plugins and loading them.
//
// Directories are searched in order: the own one (installed, or the build tree's), --plugin-path, CTPROF_PLUGIN_PATH; name order within
// one. Of two plugins of one name the first stands. A library that was opened stays until the process ends.
//
// When the process has privileges from the file (AT_SECURE), only what root owns is opened, and only from the own directory.
//
// What is here:   files to plugins, each with the reason if it is refused.
// What is not:    what plugins mean together (registry.hpp).

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/plugin.hpp"

namespace ctprof {

struct LoadOptions {
  std::string own_directory;                     // where ctprof's own plugins are
  std::vector<std::string> directories;          // --plugin-path and the environment's, in order
  std::optional<std::vector<std::string>> only;  // --plugins: exactly these; layouts load regardless
};

// A plugin, a metric or a source that is not taken, and why.
struct Refusal {
  std::string what;  // a file, or a plugin's name
  std::string reason;
};

struct LoadedPlugins {
  std::vector<Plugin> plugins;
  std::vector<Refusal> refused;
};

// Fails only where `only` names a plugin that is not there or is refused.
Result<LoadedPlugins> load_plugins(const LoadOptions& options);

// The directory of ctprof's own plugins, seen from the running program.
std::string own_plugin_directory();

// Whether the process got privileges from its file, so that neither options nor environment may choose what is loaded.
bool runs_privileged();
// What keeps a process with such privileges from loading all that is in the directory: itself where it is not root's alone, or those of
// its libraries that are not.
std::vector<std::string> closed_to_privileged(const std::string& directory);

}  // namespace ctprof
