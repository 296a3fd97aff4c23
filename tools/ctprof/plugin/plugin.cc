#include "tools/ctprof/plugin/plugin.hpp"

#include <string>

#include "tools/ctprof/options/options.hpp"
#include "tools/ctprof/plugin/check.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {

int run_plugin(const Options& options) {
  const std::string subcommand = options.arguments.empty() ? "" : options.arguments.front();
  if (subcommand == "new") return run_plugin_new(options);
  if (subcommand == "check") return run_plugin_check(options);
  if (subcommand == "check-child" && options.arguments.size() == 3)
    return run_plugin_check_child(options);
  const std::string usage = "; usage: ctprof plugin [OPTION...] new NAME | check FILE.so";
  if (subcommand.empty()) return fail("missing subcommand" + usage);
  return fail("unknown subcommand '" + subcommand + "'" + usage);
}

}  // namespace ctprof::cli
