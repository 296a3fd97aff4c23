// Finds plugins, loads them, and gives them their options.
//
// Directories are searched in this order: ctprof's own (installed, or that of the build tree),
// --plugin-path, CTPROF_PLUGIN_PATH; within a directory, in the order of names, but that those of
// ctprof's own that take long to open come first (LoadOptions::ahead). If two plugins have the same
// name, the first is kept, and of ctprof's own a layout before another. A library that was opened
// stays loaded until the process ends.
//
// A file is inspected before it is loaded: one that is truncated, not a regular file, or no plugin
// is refused, and none of its code runs.
//
// If the executable gave the process privileges (AT_SECURE), only ctprof's own directory is
// searched, and only what root alone can change is loaded (plugin_directory.hpp). It is loaded
// through the descriptor that was checked, as /proc/self/fd/N; the descriptor stays open, so that
// no two plugins share a name.
//
// Merging what plugins offer is the job of registry.hpp.

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
  std::string own_directory;             // where ctprof's own plugins are
  std::vector<std::string> directories;  // --plugin-path and the environment's, in order
  std::optional<std::vector<std::string>>
      only;                    // --plugins: exactly these; layouts load regardless
  bool layouts_alone = false;  // the others are looked at, and not loaded
  bool for_capture =
      false;  // `only` or not, those of ours that take part in every capture load too
  // False: nothing is recorded, and plugins that have nothing but recorders
  // (CTPROF_PLUGIN_RECORDER) are looked at, and not loaded unless there is an `only`.
  bool recorders = true;
  // Those of ctprof's own plugins that ask for it (CTPROF_PLUGIN_AHEAD) are loaded before the
  // others and handed over at once, without their metrics and sources, but not if `only` leaves
  // them out. What comes of them later counts as if they had been loaded in turn.
  std::function<void(const Plugin&)> ahead = {};
};

// A plugin, a metric or a source that was refused, and why.
struct Refusal {
  std::string what;  // a file, a directory, or a plugin's name
  std::string reason;
};

struct LoadedPlugins {
  std::vector<Plugin> plugins;
  std::vector<Refusal> refused;
};

// Fails if `only` names a plugin that is missing or refused, if one of `directories` cannot be
// opened, or if no plugin file was found anywhere (unless only layouts are wanted); the error then
// lists the directories. Throws PluginThrew if a plugin's constructor throws. Threads: one at a
// time.
Result<LoadedPlugins> load_plugins(const LoadOptions& options);

// Whether the executable gave this process privileges, so that neither options nor the environment
// may choose what is loaded.
bool runs_privileged();

// The first reason why a ctprof with such privileges would refuse something in `directory`, or ""
// if it would load everything. The caller needs no privileges.
std::string closed_to_privileged(const std::string& directory);

// Applies `--set PLUGIN.KEY=VALUE`. If an option is set twice, the later value counts. The error is
// a sentence about the first entry that cannot be applied: a key that the plugin has no option for,
// for example, with those that it has. Whether the value is valid the plugin says when it is opened
// (probed.hpp).
Result<void> apply_settings(std::vector<Plugin>& plugins, std::span<const std::string> given);

}  // namespace ctprof
