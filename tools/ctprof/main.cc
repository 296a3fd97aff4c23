// ctprof: finds the verb, runs it.

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/nearest.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/plugin_call.hpp"
#include "core/registry/process_state.hpp"
#include "core/render/metric_help.hpp"
#include "tools/ctprof/catalog_source.hpp"
#include "tools/ctprof/conduct.hpp"
#include "tools/ctprof/naming.hpp"
#include "tools/ctprof/options.hpp"
#include "tools/ctprof/output.hpp"
#include "tools/ctprof/privileges.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

constexpr std::string_view kTextAlone =
    "help on a command is text only; for JSON name a metric: ctprof help METRIC --format json";

std::string overview() {
  std::string text = "ctprof: a host-wide per-thread profiler.\n\nExamples:\n";
  for (const Verb& verb : verbs()) text += "  " + std::string(verb.example) + "\n";
  text += "\nUsage: ctprof COMMAND [OPTION...] [FILE...]\n\n";
  for (const Verb& verb : verbs()) {
    std::string name = "  " + std::string(verb.name);
    name.resize(16, ' ');
    text += name + std::string(verb.summary) + "\n";
  }
  return text +
         "\n`ctprof COMMAND --help` shows its options, `ctprof help METRIC [FILE]` all that is "
         "known of a metric.\n";
}

std::string usage_of(const Verb& verb) {
  const std::string usage = "ctprof " + std::string(verb.name) + " [OPTION...]";
  return verb.arguments.empty() ? usage : usage + " " + std::string(verb.arguments);
}

std::string help_of(const Verb& verb) {
  return "ctprof " + std::string(verb.name) + ": " + std::string(verb.summary) +
         ".\n\nExample:\n  " + std::string(verb.example) + "\n\nUsage: " + usage_of(verb) + "\n\n" +
         options_help(std::string(verb.name));
}

int unknown_verb(const std::string& given) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) names.emplace_back(verb.name);
  return fail("unknown command '" + given + "'" + nearest_hint(given, names) +
              "; see `ctprof --help`");
}

Error surplus(const std::string& argument, const std::string& usage) {
  return {"surplus argument '" + argument + "'; usage: " + usage};
}

// What is neither a verb nor a metric is answered with the nearest of both.
int help_on_metric(const std::string& name, const Options& options) {
  if (options.arguments.size() > 2)
    return fail(surplus(options.arguments[2], "ctprof help METRIC [FILE]"));
  const auto source = CatalogSource::open(options, std::span(options.arguments).subspan(1));
  if (!source) return fail(source.error());
  const MetricCatalog catalog = source->catalog();
  const TextLayout layout{terminal_width() > 0 ? terminal_width() : 100, use_color(options)};
  const bool json = options.format == Format::Json;
  const std::string page =
      json ? metric_help_json(catalog, name) : metric_help(catalog, name, layout);
  if (!page.empty()) return print(page);
  auto names = catalog.names();
  for (const Verb& verb : verbs()) names.emplace_back(verb.name);
  return fail("unknown command or metric '" + name + "'" + nearest_hint(name, names) +
              "; see `ctprof --help` and `ctprof metric-list`");
}

int help_in_all(const Options& options) {
  return options.format == Format::Json ? fail(kTextAlone) : print(overview());
}

// The arguments that a command has no use for, told with what it does take.
Result<void> check_arguments(const Verb& verb, const Options& options) {
  const std::size_t most = options.verb == "help" ? 1 : verb.most_arguments;
  if (options.arguments.size() <= most) return {};
  return surplus(options.arguments[most], usage_of(verb));
}

bool reads_kernel(const Options& options) {
  return std::any_of(verbs().begin(), verbs().end(), [&](const Verb& verb) {
    return verb.reads_kernel && verb.name == options.verb && !options.help;
  });
}

int run(const Options& options) {
  if (auto dropped = reads_kernel(options) ? Result<void>() : drop_privileges(); !dropped)
    return fail(dropped.error());
  if (options.verb.empty() && options.help) return print(overview());
  if (options.verb.empty() && options.version) return run_version(options);
  if (options.verb.empty()) return fail("missing command; see `ctprof --help`");
  const bool asks_help = options.verb == "help";
  if (asks_help && options.json_schema) return print_schema("help");
  if (asks_help && options.arguments.empty()) return help_in_all(options);
  const std::string& name = asks_help ? options.arguments.front() : options.verb;
  const auto verb = std::find_if(verbs().begin(), verbs().end(),
                                 [&](const Verb& known) { return known.name == name; });
  if (verb == verbs().end()) return asks_help ? help_on_metric(name, options) : unknown_verb(name);
  if (auto fits = check_arguments(*verb, options); !fits) return fail(fits.error());
  if (asks_help && options.format == Format::Json) return fail(kTextAlone);
  if (options.json_schema && !options.help) return print_schema(name);
  return asks_help || options.help ? print(help_of(*verb)) : verb->run(options);
}

// Who starts a ctprof that has capabilities from its file has no say in what it does but by its
// options: neither ours nor libraries' variables count (libdw, for one, can be told to ask
// servers). Those that stay are about colours alone.
void forget_environment() {
  if (!runs_privileged()) return;
  std::vector<std::pair<const char*, std::string>> kept;
  for (const char* name : {"NO_COLOR", "CLICOLOR_FORCE"})
    if (const char* value = std::getenv(name)) kept.emplace_back(name, value);
  ::clearenv();
  for (const auto& [name, value] : kept) ::setenv(name, value.c_str(), 1);
}

}  // namespace
}  // namespace ctprof::cli

namespace {

int status_of(int argc, char** argv) {
  using namespace ctprof::cli;
  try {
    forget_environment();
    const auto options = parse_options(argc, argv);
    return options ? run(*options) : fail(options.error());
  } catch (const ctprof::PluginThrew& exception) {
    return fail(exception.what());
  } catch (const Trouble& trouble) {
    return fail(trouble.what());
  } catch (const std::bad_alloc&) {
    return fail("there is not enough memory for this");
  } catch (const std::exception& exception) {
    return fail(std::string("a fault of ctprof itself: ") + exception.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ctprof::cli;
  keep_output();
  watch_conduct(argv);
  const ctprof::CLocale locale;
  return end_with(status_of(argc, argv));
}
