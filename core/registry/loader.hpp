// Finds plugins, loads them, and gives them their options.
//
// Directories are searched in this order: the directory of ctprof's own plugins (installed, or that
// of the build tree), --plugin-path, CTPROF_PLUGIN_PATH. Within a directory, plugins load in the
// order of their names, except that plugins of ctprof that take long to open come first
// (LoadOptions::on_early_plugin). If two plugins have the same name, the first is kept; among
// ctprof's own, a layout precedes other plugins. An opened library stays loaded until the process
// exits.
//
// A file is inspected before it is loaded: a file that is truncated, not regular, or not a plugin
// is refused, and none of its code runs.
//
// If the executable gave the process privileges (AT_SECURE), only ctprof's own directory is
// searched, and only files that no user except root can change are loaded (plugin_directory.hpp).
// Such a file is loaded through the descriptor that was checked, as /proc/self/fd/N. The descriptor
// stays open, so that no two plugins have the same path.
//
// See also registry.hpp, which merges the offers of plugins.

#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/plugin.hpp"
#include "core/registry/plugin_directory.hpp"

namespace ctprof {

struct LoadOptions {
  std::string shipped_directory;  // the directory of ctprof's own plugins
  // Directories of --plugin-path and of the environment, in order.
  std::vector<std::string> directories;
  // The plugins of --plugins: exactly these are loaded, and layouts always.
  std::optional<std::vector<std::string>> selected_plugins;
  bool load_only_layouts = false;  // other plugins are inspected, but not loaded
  // Whether to load ctprof's own plugins that take part in every capture, even if
  // `selected_plugins` omits them.
  bool is_for_capture = false;
  // False: nothing is recorded, and plugins that contain only recorders (CTPROF_PLUGIN_RECORDER)
  // are inspected, but not loaded unless `selected_plugins` is set.
  bool load_recorders = true;
  // Called for each of ctprof's own plugins that requests it (CTPROF_PLUGIN_AHEAD), unless
  // `selected_plugins` omits the plugin. These plugins are loaded before the others and passed
  // immediately, without their metrics and sources. The result of load_plugins() is the same as if
  // they had been loaded in the usual order.
  std::function<void(const Plugin&)> on_early_plugin = {};
};

// A plugin, a metric or a source that was refused, and why.
struct Refusal {
  std::string subject;  // path of a file or directory, or name of a plugin
  std::string reason;
};

struct LoadedPlugins {
  std::vector<Plugin> plugins;
  std::vector<Refusal> refusals;
};

// Fails if `selected_plugins` names a plugin that is missing or refused, if one of `directories`
// cannot be opened, or if no plugin file was found anywhere (unless only layouts are requested);
// the error then lists the directories. Throws PluginException if a plugin's constructor throws.
// Not thread-safe.
Result<LoadedPlugins> load_plugins(const LoadOptions& options);

// Returns whether the executable gave this process privileges, so that neither options nor the
// environment may choose what is loaded.
bool runs_privileged();

// Returns the first reason why a ctprof with such privileges would refuse a file in `directory`, or
// "" if it would load all files. The caller needs no privileges.
std::string find_privileged_refusal(const std::string& directory);

// Applies `--set PLUGIN.KEY=VALUE`. If an option is set twice, the later value counts. The error
// describes the first entry that cannot be applied, such as an unknown key, with a list of the
// known ones. The plugin itself checks the value when it is opened (probed_host.hpp).
Result<void> apply_settings(std::vector<Plugin>& plugins, std::span<const std::string> entries);

}  // namespace ctprof
