// ctprof: finds the command and runs it.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/output/output_child.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/plugin_call.hpp"
#include "core/registry/process_state_guard.hpp"
#include "tools/ctprof/cli/command_table.hpp"
#include "tools/ctprof/cli/completion.hpp"
#include "tools/ctprof/cli/help.hpp"
#include "tools/ctprof/cli/manual.hpp"
#include "tools/ctprof/fleet/fleet.hpp"
#include "tools/ctprof/options/command_line.hpp"
#include "tools/ctprof/options/settings.hpp"
#include "tools/ctprof/runtime/activity_error.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/pager.hpp"
#include "tools/ctprof/runtime/plugin_watchdog.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {
namespace {

constexpr std::string_view kTextOnlyError =
    "help on a command is text only; for JSON name a metric: ctprof help METRIC --format json";

int report_unknown_command(const std::string& word) {
  if (std::filesystem::path(word).has_extension() && ::access(word.c_str(), F_OK) == 0)
    return fail("unknown command '" + word + "', which is a file: ctprof show " + word);
  return fail("unknown command '" + word + "'" + command_hint(word) + "; see `ctprof --help`");
}

Result<void> check_arguments(const CommandInfo& command, const CommonOptions& options,
                             std::size_t max_arguments) {
  if (options.arguments.size() <= max_arguments) return {};
  if (command.takes_child_command)
    return Error{"unexpected argument '" + options.arguments[max_arguments] +
                 "'; put -- before the command, as in `ctprof record -- " +
                 join_texts(options.arguments, " ") + "`"};
  return unexpected_argument(options.arguments[max_arguments], usage_of(command));
}

// Runs `ctprof --help`, or reports a usage error.
int run_without_command(const CommonOptions& options) {
  if (options.help) return print_paged(options, overview_text());
  return fail("missing command; see `ctprof --help`");
}

// Runs `ctprof help`, `ctprof help COMMAND` and `ctprof help METRIC [FILE]`.
int run_help(const CommonOptions& options) {
  const bool json = options.format == Format::Json;
  if (options.json_schema) return print_schema("help");
  if (options.arguments.empty())
    return json ? fail(kTextOnlyError) : print_paged(options, overview_text());
  const CommandInfo* command = find_command(options.arguments.front());
  if (!command) return print_metric_help(options);
  if (auto checked = check_arguments(*command, options, 1); !checked) return fail(checked.error());
  return json ? fail(kTextOnlyError) : print_paged(options, help_of(*command));
}

int run_command(const CommonOptions& options) {
  const CommandInfo* command = find_command(options.command_name);
  if (!command) return report_unknown_command(options.command_name);
  if (auto checked = check_arguments(*command, options, command->max_arguments); !checked)
    return fail(checked.error());
  if (options.help) return print_paged(options, help_of(*command));
  return options.json_schema ? print_schema(command->name) : command->run(options);
}

constexpr auto kHelpOptions =
    option_list<CommonOptions>(kVerbose, kScreenAndSchema, kPluginChoice, kQuietAndHelp);

constexpr auto kUnnamedOptions = option_list<CommonOptions>(
    kVerbose, kScreen, kQuiet,
    switch_on("version,V", member<&CommonOptions::version>, "Print the version.").only_typed(),
    kHelp);

// Drops ctprof's file capabilities, unless the command reads the kernel.
Result<void> drop_unneeded_privileges(const CommonOptions& options) {
  const CommandInfo* command = find_command(options.command_name);
  return command && command->reads_kernel && !options.help ? Result<void>() : drop_privileges();
}

int run(const CommonOptions& options) {
  if (auto dropped = drop_unneeded_privileges(options); !dropped) return fail(dropped.error());
  if (options.command_name.empty()) return run_without_command(options);
  return options.command_name == "help" ? run_help(options) : run_command(options);
}

// Reports a refused file even with --quiet, because an attacker may have created it.
void report_refused_settings(const CommonOptions& options,
                             const std::vector<SettingsSource>& settings) {
  if (options.command_name == "config") return;  // config prints this itself
  for (const SettingsSource& source : settings) {
    if (source.is_refused) fail("refused: " + source.name + ": " + source.state);
    for (const std::string& sentence : source.ignored) print_note(options, sentence);
  }
}

// Whether the command works without settings: users with invalid settings need it to repair them.
bool works_without_settings(const CommonOptions& options) {
  return options.help || options.command_name == "help" || options.command_name == "version";
}

Result<ParsedCommand> read_command_line(int argc, char** argv) {
  const auto settings = read_settings(all_commands(), &explain_unknown_command);
  auto parsed = parse_command_line(argc, argv, all_commands(),
                                   settings ? *settings : std::vector<SettingsSource>());
  if (!settings) {
    if (!parsed || !works_without_settings(*parsed->options)) return settings.error();
    print_note(*parsed->options, "settings are ignored: " + settings.error().text);
  } else if (parsed) {
    report_refused_settings(*parsed->options, *settings);
  }
  return parsed;
}

// A ctprof with file capabilities is controlled only by its options. Environment variables could
// also control libraries (for example, libdw can query servers), so only those for colors and the
// terminal's name are kept, unless they contain a path.
void clear_environment() {
  if (!runs_privileged()) return;
  std::vector<std::pair<const char*, std::string>> kept_variables;
  for (const char* name : {"NO_COLOR", "CLICOLOR_FORCE", "TERM"})
    if (const char* value = std::getenv(name))
      if (!std::strpbrk(value, "/:%")) kept_variables.emplace_back(name, value);
  ::clearenv();
  for (const auto& [name, value] : kept_variables) ::setenv(name, value.c_str(), 1);
}

// `words` follow `fleet`.
int run_fleet_command(std::span<const char* const> words) {
  const std::string_view first = words.empty() ? "" : words.front();
  if (runs_privileged() || !(first.empty() || first == "--help" || first == "-h"))
    return run_fleet_words(words);
  return print_paged(CommonOptions(), help_of(*find_command("fleet")));
}

}  // namespace

extern constinit const CommandInfo kHelpCommand = make_command<CommonOptions, run_help>(
    {.name = "help", .max_arguments = kAnyNumber}, kHelpOptions);
extern constinit const CommandInfo kUnnamedCommand =
    make_command<CommonOptions, run_without_command>({.name = ""}, kUnnamedOptions);

}  // namespace ctprof::cli

namespace {

int run_main(int argc, char** argv) {
  using namespace ctprof::cli;
  try {
    clear_environment();
    const std::string_view first = argc > 1 ? argv[1] : "";
    if (first == "complete" || first == "manual") {
      const std::span<const char* const> words(argv + 2, static_cast<std::size_t>(argc - 2));
      return first == "complete" ? run_complete(words) : run_manual(words);
    }
    if (first == "fleet") return run_fleet_command({argv + 2, static_cast<std::size_t>(argc - 2)});
    const auto parsed = read_command_line(argc, argv);
    if (!parsed) return fail(parsed.error());
    parsed->options->command_line = quote_command_line(argc, argv);
    return run(*parsed->options);
  } catch (const ctprof::PluginException& exception) {
    return fail(exception.what());
  } catch (const NamedFailure& failure) {
    return fail(failure.what());
  } catch (const std::bad_alloc&) {
    return fail("not enough memory");
  } catch (const std::exception& exception) {
    return fail(std::string("internal error of ctprof: ") + exception.what());
  }
}

// If there is no memory for an exception, the C++ runtime ends the program without mentioning
// memory.
bool has_memory_to_fail() {
  constexpr std::size_t kMinBytes = 1 << 20;
  void* const memory =
      ::mmap(nullptr, kMinBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED && ::munmap(memory, kMinBytes) == 0;
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
  if (argc > 1 && std::string_view(argv[1]) == ctprof::kOutputChildWord) ctprof::run_output_child();
  move_standard_output();
  install_plugin_watchdog(argv);
  const ctprof::CLocale locale;
  return finish_with_status(run_main(argc, argv));
}
