// ctprof: finds the verb, runs it.

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/nearest.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/plugin_call.hpp"
#include "core/registry/process_state.hpp"
#include "core/render/metric_help.hpp"
#include "tools/ctprof/conduct.hpp"
#include "tools/ctprof/naming.hpp"
#include "tools/ctprof/options.hpp"
#include "tools/ctprof/output.hpp"
#include "tools/ctprof/privileges.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

constexpr std::string_view kTextAlone =
    "help on verbs is text alone; on a metric it is JSON too: ctprof help METRIC --format json";

std::string overview() {
  std::string text = "ctprof: a host-wide per-thread profiler.\n\nExamples:\n";
  for (const Verb& verb : verbs()) text += "  " + std::string(verb.example) + "\n";
  text += "\nUsage: ctprof VERB [OPTION...] [FILE...]\n\n";
  for (const Verb& verb : verbs()) {
    std::string name = "  " + std::string(verb.name);
    name.resize(16, ' ');
    text += name + std::string(verb.summary) + "\n";
  }
  return text +
         "\n`ctprof VERB --help` shows a verb's options, `ctprof help METRIC` all that is known of "
         "a metric.\n";
}

std::string help_of(const Verb& verb) {
  std::string usage = "ctprof " + std::string(verb.name) + " [OPTION...]";
  if (!verb.arguments.empty()) usage += " " + std::string(verb.arguments);
  return "ctprof " + std::string(verb.name) + ": " + std::string(verb.summary) +
         ".\n\nExample:\n  " + std::string(verb.example) + "\n\nUsage: " + usage + "\n\n" +
         options_help(std::string(verb.name));
}

int unknown_verb(const std::string& given) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) names.emplace_back(verb.name);
  return fail("there is no verb '" + given + "'" + nearest_hint(given, names) +
              "; `ctprof --help` lists them");
}

// What is neither a verb nor a metric is answered with the nearest of both.
int help_on_metric(const std::string& name, const Options& options) {
  const auto registry = load_metrics(options);
  if (!registry) return fail(registry.error());
  const TextLayout layout{terminal_width() > 0 ? terminal_width() : 100, use_color(options)};
  const bool json = options.format == Format::Json;
  const std::string page =
      json ? metric_help_json(*registry, name) : metric_help(*registry, name, layout);
  if (!page.empty()) return print(page);
  auto names = known_metrics(*registry);
  for (const Verb& verb : verbs()) names.emplace_back(verb.name);
  return fail("there is no verb or metric '" + name + "'" + nearest_hint(name, names) +
              "; `ctprof --help` lists verbs, `ctprof metric-list` metrics");
}

int help_in_all(const Options& options) {
  return options.format == Format::Json ? fail(kTextAlone) : print(overview());
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
  if (options.verb.empty()) return fail("which verb? `ctprof --help` lists them");
  const bool asks_help = options.verb == "help";
  if (asks_help && options.json_schema) return print_schema("help");
  if (asks_help && options.arguments.empty()) return help_in_all(options);
  const std::string& name = asks_help ? options.arguments.front() : options.verb;
  const auto verb = std::find_if(verbs().begin(), verbs().end(),
                                 [&](const Verb& known) { return known.name == name; });
  if (verb == verbs().end()) return asks_help ? help_on_metric(name, options) : unknown_verb(name);
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
