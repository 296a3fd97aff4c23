// Settings: options with a permanent value, instead of one on each command line.
//
// They come from three places. The first place that sets an option takes precedence:
//
//   CTPROF_FREQ=499                        the environment: --freq, in capitals, _ for -
//   $XDG_CONFIG_HOME/ctprof/ctprof.conf    the user's file; ~/.config if the variable is not set
//   /etc/ctprof/ctprof.conf                the host's file
//
// A file has lines `option = value`. Lines below `[command]` are for that command only. A comment
// starts at a `#` that begins a line or follows a blank outside quotes. A switch is `true` or
// `false`; an option that can be repeated has one line per value. A command ignores settings of
// options that it does not take. An option on the command line overrides all settings.
//
// A ctprof with file capabilities (AT_SECURE) has no settings.
//
// See also: the declarations of options (option.hpp), printing settings (config.cc).

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "tools/ctprof/options/command.hpp"

namespace ctprof::cli {

// Environment variables with the prefix CTPROF_ that are not options. pager.cc and load_plugins.cc
// read them.
inline constexpr const char* kNonOptionVariables[] = {"CTPROF_PAGER", "CTPROF_PLUGIN_PATH"};

struct Setting {
  std::string option;   // long name
  std::string command;  // the command that it is for; empty: all commands that take the option
  std::vector<std::string> values;
  std::string origin;  // "/etc/ctprof/ctprof.conf, line 3", "CTPROF_FREQ"
};

// A place that can contain settings.
struct SettingsSource {
  std::string name;                  // a path, or "environment"
  std::string state;                 // "read", "not there", or why it was refused
  bool is_refused = false;           // because the wrong user owns or can write it
  std::vector<Setting> settings;     // those for one command first
  std::vector<std::string> ignored;  // one sentence for each name that looks like a setting but is
                                     // none
};

// Reads all places, in order of decreasing precedence. As root, refuses a file that other users
// could have written, and does not read it. Fails if a relevant file cannot be read or has an
// invalid line; the error names the file and the line.
//
// `explain_unknown_command` returns an empty text for a command, otherwise the reason why a section
// of that name has no effect.
using ExplainUnknownCommand = std::string (*)(const std::string& name);
Result<std::vector<SettingsSource>> read_settings(CommandSpan commands,
                                                  ExplainUnknownCommand explain_unknown_command);

// Returns the settings that apply to a command, each option once. REQUIRES: `sources` as
// read_settings() returns them.
std::vector<Setting> settings_for_command(const CommandInfo& command,
                                          const std::vector<SettingsSource>& sources);

// Adds the settings for the command to its command line. Skips settings that need an option that is
// not set (--freq without --recorders), and those that another option on the command line
// overrides. Stores the added settings for describe_origins().
void add_settings(const CommandInfo& command, const std::vector<SettingsSource>& sources,
                  CommandLine& line);

// Returns "CTPROF_GROUP_BY" for "group-by".
std::string variable_name(std::string_view option);

// Returns " (--freq is set in /etc/ctprof/ctprof.conf, line 3)" for each option that add_settings()
// added and the sentence names, so that the user learns where the option comes from.
std::string describe_origins(std::string_view sentence);

}  // namespace ctprof::cli
