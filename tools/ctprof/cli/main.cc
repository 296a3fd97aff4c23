// ctprof: finds the command and runs it.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/plugin_call.hpp"
#include "core/registry/process_state.hpp"
#include "tools/ctprof/cli/command_table.hpp"
#include "tools/ctprof/cli/completion.hpp"
#include "tools/ctprof/cli/help.hpp"
#include "tools/ctprof/cli/manual.hpp"
#include "tools/ctprof/commands/commands.hpp"
#include "tools/ctprof/fleet/fleet.hpp"
#include "tools/ctprof/options/options.hpp"
#include "tools/ctprof/options/settings.hpp"
#include "tools/ctprof/runtime/activity_error.hpp"
#include "tools/ctprof/runtime/conduct.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/pager.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {
namespace {

constexpr std::string_view kTextAlone =
    "help on a command is text only; for JSON name a metric: ctprof help METRIC --format json";

int unknown_verb(const std::string& given) {
  return fail("unknown command '" + given + "'" + verb_hint(given) + "; see `ctprof --help`");
}

Result<void> check_arguments(const Verb& verb, const Options& options, std::size_t most) {
  if (options.arguments.size() <= most) return {};
  if (verb.name == "record")
    return Error{"unexpected argument '" + options.arguments[most] +
                 "'; put -- before the command, as in `ctprof record -- " +
                 joined(options.arguments, " ") + "`"};
  return unexpected_argument(options.arguments[most], usage_of(verb));
}

// Runs `ctprof --help` or `ctprof --version`, or reports a usage error.
int run_without_verb(const Options& options) {
  if (options.help) return page(options, overview());
  if (options.version) return run_version(options);
  return fail("missing command; see `ctprof --help`");
}

// Runs `ctprof help`, `ctprof help COMMAND` and `ctprof help METRIC [FILE]`.
int run_help(const Options& options) {
  const bool json = options.format == Format::Json;
  if (options.json_schema) return print_schema("help");
  if (options.arguments.empty()) return json ? fail(kTextAlone) : page(options, overview());
  const Verb* verb = find_verb(options.arguments.front());
  if (!verb) return help_on_metric(options);
  if (auto fits = check_arguments(*verb, options, 1); !fits) return fail(fits.error());
  return json ? fail(kTextAlone) : page(options, help_of(*verb));
}

int run_verb(const Options& options) {
  const Verb* verb = find_verb(options.verb);
  if (!verb) return unknown_verb(options.verb);
  if (auto fits = check_arguments(*verb, options, verb->most_arguments); !fits)
    return fail(fits.error());
  if (options.help) return page(options, help_of(*verb));
  return options.json_schema ? print_schema(verb->name) : verb->run(options);
}

// Drops the capabilities of ctprof's file, unless the command reads the kernel.
Result<void> settle_privileges(const Options& options) {
  const Verb* verb = find_verb(options.verb);
  return verb && verb->reads_kernel && !options.help ? Result<void>() : drop_privileges();
}

int run(const Options& options) {
  if (auto settled = settle_privileges(options); !settled) return fail(settled.error());
  if (options.verb.empty()) return run_without_verb(options);
  return options.verb == "help" ? run_help(options) : run_verb(options);
}

// Reports a refused file even with --quiet, because an attacker may have created it.
void note_refused(const Options& options, const std::vector<SettingsSource>& settings) {
  if (options.verb == "config") return;  // config prints this itself
  for (const SettingsSource& source : settings) {
    if (source.refused) fail("refused: " + source.name + ": " + source.state);
    for (const std::string& sentence : source.ignored) note(options, sentence);
  }
}

// Whether the command works without settings: users with invalid settings need it to repair them.
bool does_without_settings(const Options& options) {
  return options.help || options.version || options.verb == "help" || options.verb == "version";
}

Result<Options> parse(int argc, char** argv) {
  const auto settings = read_settings(&why_unknown_command);
  auto options = parse_options(argc, argv, settings ? *settings : std::vector<SettingsSource>());
  if (!settings) {
    if (!options || !does_without_settings(*options)) return settings.error();
    note(*options, "settings are ignored: " + settings.error().text);
  } else if (options) {
    note_refused(*options, *settings);
  }
  return options;
}

// A ctprof with file capabilities is controlled only by its options. Environment variables could
// also control libraries (for example, libdw can query servers), so only those for colors and the
// terminal's name are kept, unless they contain a path.
void forget_environment() {
  if (!runs_privileged()) return;
  std::vector<std::pair<const char*, std::string>> kept;
  for (const char* name : {"NO_COLOR", "CLICOLOR_FORCE", "TERM"})
    if (const char* value = std::getenv(name))
      if (!std::strpbrk(value, "/:%")) kept.emplace_back(name, value);
  ::clearenv();
  for (const auto& [name, value] : kept) ::setenv(name, value.c_str(), 1);
}

// `words` follow `fleet`.
int run_fleet_command(std::span<const char* const> words) {
  const std::string_view first = words.empty() ? "" : words.front();
  if (runs_privileged() || !(first.empty() || first == "--help" || first == "-h"))
    return run_fleet_words(words);
  return page(Options(), help_of(*find_verb("fleet")));
}

}  // namespace
}  // namespace ctprof::cli

namespace {

int status_of(int argc, char** argv) {
  using namespace ctprof::cli;
  try {
    forget_environment();
    const std::string_view first = argc > 1 ? argv[1] : "";
    if (first == "complete" || first == "manual") {
      const std::span<const char* const> words(argv + 2, static_cast<std::size_t>(argc - 2));
      return first == "complete" ? run_complete(words) : run_manual(words);
    }
    if (first == "fleet") return run_fleet_command({argv + 2, static_cast<std::size_t>(argc - 2)});
    auto options = parse(argc, argv);
    if (!options) return fail(options.error());
    options->command_line = in_shell(argc, argv);
    return run(*options);
  } catch (const ctprof::PluginThrew& exception) {
    return fail(exception.what());
  } catch (const Trouble& trouble) {
    return fail(trouble.what());
  } catch (const std::bad_alloc&) {
    return fail("not enough memory");
  } catch (const std::exception& exception) {
    return fail(std::string("a fault of ctprof itself: ") + exception.what());
  }
}

// If there is no memory for an exception, the C++ runtime ends the program without mentioning
// memory.
bool has_memory_to_fail() {
  constexpr std::size_t kLeast = 1 << 20;
  void* const some =
      ::mmap(nullptr, kLeast, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return some != MAP_FAILED && ::munmap(some, kLeast) == 0;
}

int fail_without_memory() {
  constexpr std::string_view kSentence = "ctprof: not enough memory\n";
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, kSentence.data(), kSentence.size());
  return ctprof::cli::kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ctprof::cli;
  if (!has_memory_to_fail()) return fail_without_memory();
  keep_output();
  watch_conduct(argv);
  const ctprof::CLocale locale;
  return end_with(status_of(argc, argv));
}
