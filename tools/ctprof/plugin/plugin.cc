#include "tools/ctprof/plugin/plugin.hpp"

#include <string>

#include "tools/ctprof/options/command.hpp"
#include "tools/ctprof/plugin/check.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {
namespace {

constexpr auto kPluginCommandOptions = option_list<PluginCommandOptions>(
    kVerbose, kScreen,
    option("lang", "c++|c|rust", member<&PluginCommandOptions::language>,
           OneNameOf<kPluginLanguages>(), "new: Write the plugin in this language. Default: c++."),
    option("source", "thread|process|cgroup|host|entity|record|output",
           member<&PluginCommandOptions::source>, OneNameOf<kPluginSources>(),
           "new: Write a plugin with a metric of threads (default), processes, cgroups or the "
           "host; with rows of another kind (entity); a recorder of call stacks (record); or an "
           "output plugin, which passes windows to another program."),
    switch_on("as-root", member<&PluginCommandOptions::as_root>,
              "check: Run the plugin as root, if you are root. Default: as nobody."),
    kRootfs, kQuietAndHelp);

int run_plugin(const PluginCommandOptions& options) {
  const std::string subcommand = options.arguments.empty() ? "" : options.arguments.front();
  if (subcommand == "new") return run_plugin_new(options);
  if (subcommand == "check") return run_plugin_check(options);
  if (subcommand == "check-child" && options.arguments.size() == 3)
    return run_plugin_check_child(options);
  const std::string usage = "; usage: ctprof plugin [OPTION...] new NAME | check FILE.so";
  if (subcommand.empty()) return fail("missing subcommand" + usage);
  return fail("unknown subcommand '" + subcommand + "'" + usage);
}

}  // namespace

extern constinit const CommandInfo kPluginCommand = make_command<PluginCommandOptions, run_plugin>(
    {.name = "plugin",
     .similar_names = "scaffold,new,create,init,sdk",
     .arguments = "new NAME | check FILE.so",
     .summary = "create a directory with a new plugin, or check a plugin for faults",
     .example = "ctprof plugin new hello",
     .max_arguments = 3},
    kPluginCommandOptions);

}  // namespace ctprof::cli
