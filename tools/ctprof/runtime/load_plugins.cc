#include "tools/ctprof/runtime/load_plugins.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "core/capture/capture.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/plugin_directory.hpp"
#include "ctprof/files.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/outputs.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

// A missing directory in an option is an error. The environment may name directories that exist
// only on other hosts.
std::vector<std::string> plugin_directories(const CommonOptions& options) {
  std::vector<std::string> directories = options.plugin_path;
  for (const std::string& directory : plugin_path_of_environment())
    if (PluginDirectory::open(directory, Trust::AnyUser)) directories.push_back(directory);
  return directories;
}

// Prints notes about requested plugin directories that are ignored.
void note_ignored(const CommonOptions& options) {
  if (runs_privileged() && !options.plugin_path.empty())
    print_note(options,
               "--plugin-path is ignored: this ctprof has file capabilities and loads only its own "
               "plugins");
  for (const std::string& directory : plugin_path_of_environment())
    if (const auto open = PluginDirectory::open(directory, Trust::AnyUser); !open)
      print_note(options, "CTPROF_PLUGIN_PATH: looking for plugins in " + open.error().text);
}

}  // namespace

Result<Registry> load_registry(const CommonOptions& options, LoadScope which, EarlyOpener* ahead) {
  const bool captures = which == LoadScope::Capture || which == LoadScope::CaptureAndRecorders;
  LoadOptions load{own_plugin_directory(), plugin_directories(options), options.plugins,
                   which == LoadScope::Layouts, captures};
  // A plugin option may belong to a recorder.
  load.load_recorders = which != LoadScope::Capture || !options.plugin_settings.empty();
  if (ahead) load.on_early_plugin = [&](const Plugin& plugin) { ahead->open(plugin); };
  CTPROF_TRY_VALUE(auto loaded, load_plugins(load));
  CTPROF_TRY(apply_settings(loaded.plugins, settings_of_sources(options)));
  Registry registry(std::move(loaded));
  if (which == LoadScope::Layouts) return registry;
  note_loaded(options, registry);
  note_ignored(options);
  for (const Refusal& refusal : registry.refusals())
    print_note(options, "refused: " + refusal.subject + ": " + refusal.reason);
  return registry;
}

Result<Registry> load_metrics(const CommonOptions& options, LoadScope which, EarlyOpener* ahead) {
  auto registry = load_registry(options, which, ahead);
  if (!registry || std::any_of(registry->plugins().begin(), registry->plugins().end(),
                               [](const Plugin& p) { return !p.is_layout; }))
    return registry;
  const auto& refused = registry->refusals();
  const std::string why =
      refused.empty() ? "" : "; " + refused.front().subject + ": " + refused.front().reason;
  return Error{"no plugin could be loaded, and metrics come from plugins" + why};
}

void note_unused(const CommonOptions& options, const std::vector<Refusal>& unused) {
  for (const Refusal& refusal : unused)
    print_note(options, "not used: " + refusal.subject + ": " + refusal.reason);
}

void note_loaded(const CommonOptions& options, const Registry& registry) {
  if (!options.verbose) return;
  for (const Plugin& plugin : registry.plugins())
    if (!plugin.is_layout)
      print_note(options, "plugin " + plugin.name + " " + plugin.version + ": " + plugin.path);
}

void note_read(const CommonOptions& options, const std::string& file,
               std::span<const Snapshot> captures) {
  if (!options.verbose) return;
  for (const Snapshot& capture : captures)
    print_note(options, file + ": a " + (capture.window ? "window" : "snapshot") + " of " +
                            format_count(capture.rows_of(Entity::Thread), "thread") + ", by " +
                            (capture.is_foreign ? "another tool" : "ctprof " + capture.meta.tool));
}

}  // namespace ctprof::cli
