// Parses the command line: finds the command, and stores the values of its options in the command's
// struct (option.hpp). An option may precede or follow the command.
//
// See also: settings of options (settings.hpp).

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "tools/ctprof/options/command.hpp"

namespace ctprof::cli {

struct SettingsSource;

// A command with its options.
struct ParsedCommand {
  const CommandInfo* command;  // the unnamed command if there is none of that name
  std::shared_ptr<CommonOptions> options;
};

// Options on the command line override settings. The error is one sentence that names the valid
// form.
Result<ParsedCommand> parse_command_line(int argc, const char* const* argv, CommandSpan commands,
                                         const std::vector<SettingsSource>& settings);

// Quotes the words for a shell: "ctprof show 'my file'".
std::string quote_command_line(int argc, const char* const* argv);

}  // namespace ctprof::cli
