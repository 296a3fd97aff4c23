#include "tools/ctprof/cli/command_table.hpp"

#include <array>
#include <cctype>
#include <cstddef>

#include "core/base/text.hpp"

// The commands in the order of the help; each one defines a CommandInfo of that name. To add a
// command, add a line.
#define CTPROF_COMMANDS(COMMAND) \
  COMMAND(kCaptureCommand)       \
  COMMAND(kRecordCommand)        \
  COMMAND(kLiveCommand)          \
  COMMAND(kShowCommand)          \
  COMMAND(kCompareCommand)       \
  COMMAND(kNoiseCommand)         \
  COMMAND(kReportCommand)        \
  COMMAND(kFlameCommand)         \
  COMMAND(kSymbolizeCommand)     \
  COMMAND(kExportCommand)        \
  COMMAND(kFleetCommand)         \
  COMMAND(kMetricListCommand)    \
  COMMAND(kPluginsCommand)       \
  COMMAND(kPluginCommand)        \
  COMMAND(kRecordTreeCommand)    \
  COMMAND(kDoctorCommand)        \
  COMMAND(kConfigCommand)        \
  COMMAND(kCompletionCommand)    \
  COMMAND(kVersionCommand)

namespace ctprof::cli {

#define CTPROF_DECLARE(name) extern const CommandInfo name;
CTPROF_COMMANDS(CTPROF_DECLARE)
extern const CommandInfo kHelpCommand, kUnnamedCommand;

namespace {

// The commands that the help does not list are the last.
constexpr std::size_t kUnlisted = 2;
#define CTPROF_ENTRY(name) &name,
constexpr std::array kCommands{CTPROF_COMMANDS(CTPROF_ENTRY) CTPROF_ENTRY(kHelpCommand)
                                   CTPROF_ENTRY(kUnnamedCommand)};

}  // namespace

CommandSpan all_commands() { return kCommands; }

CommandSpan command_table() { return all_commands().first(kCommands.size() - kUnlisted); }

const CommandInfo* find_command(std::string_view name) {
  return find_command(command_table(), name);
}

std::string command_hint(std::string_view word, std::vector<std::string> other_words) {
  std::string lower_word(word);
  for (char& c : lower_word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const CommandInfo* command : command_table())
    if (is_listed(command->similar_names, lower_word))
      return " (did you mean '" + std::string(command->name) + "'?)";
  for (const CommandInfo* command : command_table()) other_words.emplace_back(command->name);
  return suggest_nearest(word, other_words);
}

std::string explain_unknown_command(const std::string& name) {
  return find_command(name) ? "" : "unknown command '" + name + "'" + command_hint(name);
}

}  // namespace ctprof::cli
