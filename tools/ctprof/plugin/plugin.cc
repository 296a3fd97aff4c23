#include "tools/ctprof/plugin/plugin.hpp"

#include <string>

#include "tools/ctprof/help.hpp"
#include "tools/ctprof/options.hpp"
#include "tools/ctprof/plugin/check.hpp"
#include "tools/ctprof/plugin/scaffold.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {

Result<PluginOptions> read_plugin_options(const OptionValues& given) {
  PluginOptions options;
  if (has_option(given, "lang")) options.language = last_value(given, "lang");
  if (has_option(given, "source")) options.source = last_value(given, "source");
  options.as_root = has_option(given, "as-root");
  if (!is_plugin_language(options.language))
    return no_choice("lang", options.language, plugin_languages());
  if (!is_plugin_source(options.source))
    return no_choice("source", options.source, plugin_sources());
  return options;
}

int run_plugin(const Options& options) {
  const std::string subcommand = options.arguments.empty() ? "" : options.arguments.front();
  if (subcommand == "new") return run_plugin_new(options);
  if (subcommand == "check") return run_plugin_check(options);
  if (subcommand == "check-child" && options.arguments.size() == 3)
    return run_plugin_check_child(options);
  const std::string usage = "; usage: " + usage_of(*find_verb("plugin"));
  if (subcommand.empty()) return fail("missing subcommand" + usage);
  return fail("unknown subcommand '" + subcommand + "'" + usage);
}

}  // namespace ctprof::cli
