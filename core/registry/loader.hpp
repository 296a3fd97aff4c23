// Finding plugins and loading them.
//
// Directories are searched in order: the own one (installed, or the build tree's), --plugin-path,
// CTPROF_PLUGIN_PATH; name order within one. Of two plugins of one name the first stands. A library
// that was opened stays until the process ends.
//
// A file is looked at before it is loaded: what is cut short, no regular file, or no plugin is
// refused and runs nothing.
//
// When the process has privileges from the file (AT_SECURE), only the own directory is searched,
// and only what root alone can change is loaded (trusted_path.hpp), by the descriptor that was
// checked: /proc/self/fd/N, which stays open so that no two plugins share a name.
//
// What is here:   files to plugins, each with the reason if it is refused.
// What is not:    what plugins mean together (registry.hpp), where ctprof is
// (plugin_directory.hpp).

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/plugin.hpp"
#include "core/registry/plugin_directory.hpp"

namespace ctprof {

struct LoadOptions {
  std::string own_directory;             // where ctprof's own plugins are
  std::vector<std::string> directories;  // --plugin-path and the environment's, in order
  std::optional<std::vector<std::string>>
      only;                    // --plugins: exactly these; layouts load regardless
  bool layouts_alone = false;  // the others are looked at, and not loaded
  bool for_capture =
      false;  // `only` or not, those of ours that take part in every capture load too
};

// A plugin, a metric or a source that is not taken, and why.
struct Refusal {
  std::string what;  // a file, a directory, or a plugin's name
  std::string reason;
};

struct LoadedPlugins {
  std::vector<Plugin> plugins;
  std::vector<Refusal> refused;
};

// Fails where `only` names a plugin that is not there or is refused, where one of `directories`
// cannot be opened, and where no file is found at all (but for layouts alone): the error says where
// was looked. Not on two threads at once. Throws PluginThrew where a constructor throws.
Result<LoadedPlugins> load_plugins(const LoadOptions& options);

// Whether the process got privileges from its file, so that neither options nor environment may
// choose what is loaded.
bool runs_privileged();

// What keeps a ctprof with such privileges from loading all that is in the directory: a sentence,
// empty where nothing does. Asked by one that may have none.
std::string closed_to_privileged(const std::string& directory);

}  // namespace ctprof
