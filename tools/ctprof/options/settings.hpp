// Settings: options that somebody gave once and for all, rather than on each command line.
//
// They come from, and the first that has one wins:
//
//   CTPROF_FREQ=499                        the environment: --freq, in capitals, _ for -
//   $XDG_CONFIG_HOME/ctprof/ctprof.conf    the user's file; ~/.config where that is not set
//   /etc/ctprof/ctprof.conf                the host's file
//
// A file has lines `option = value`, or `[verb]` above the lines that are for that verb alone, and
// comments behind a `#` that begins a line, or follows a blank outside of quotes. A switch is
// `true` or `false`; an option that may be repeated has a line for each value. An option that a
// verb does not take is left alone there, and one on the command line wins over all of these.
//
// A ctprof with capabilities of its executable (AT_SECURE) has no settings.
//
// Not here: what options mean (options.hpp), telling settings (config.cc).

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "tools/ctprof/options/option_table.hpp"
#include "tools/ctprof/options/option_values.hpp"

namespace ctprof::cli {

// Variables of the environment that are no options; pager.cc and options.cc read them.
inline constexpr const char* kOtherVariables[] = {"CTPROF_PAGER", "CTPROF_PLUGIN_PATH"};

struct Setting {
  std::string option;  // its long name
  std::string verb;    // it is for; empty: all that take it
  std::vector<std::string> values;
  std::string origin;  // "/etc/ctprof/ctprof.conf, line 3", "CTPROF_FREQ"
};

// A place where settings may stand.
struct SettingsSource {
  std::string name;                  // a path, or "environment"
  std::string state;                 // "read", "not there", or why it was refused
  bool refused = false;              // for whom it belongs to
  std::vector<Setting> settings;     // those for one verb first
  std::vector<std::string> ignored;  // what looks like a setting and is none: a sentence each
};

// All places, the strongest first. A file that root may not rely on, since somebody else could have
// written it, is refused and not read. Fails where a file that counts cannot be read or has a line
// that says nothing: the error names both.
//
// `why_unknown_command` returns an empty text for a command, else the reason why a section of that
// name has no effect.
using WhyUnknownCommand = std::string (*)(const std::string& name);
Result<std::vector<SettingsSource>> read_settings(WhyUnknownCommand why_unknown_command);

// What counts for a verb, each option once. REQUIRES: `sources` as read_settings() returns them.
std::vector<Setting> settings_of(std::string_view verb, const std::vector<SettingsSource>& sources);

// Adds to `given`, the options of a command line, those that are set for its verb. Left out is what
// only goes with an option that is not there (--freq without --recorders), and what another option
// on the command line stands in place of. `described` are all options. Keeps what was added, for
// origins_in().
void add_settings(std::string_view verb, const std::vector<SettingsSource>& sources,
                  const OptionDescriptions& described, OptionValues& given);

// Whether an option can be set at all: not so what one command line is about, such as its output.
bool can_be_set(const OptionInfo& option);

// "CTPROF_GROUP_BY" of "group-by".
std::string variable_of(std::string_view option);

// " (--freq is set in /etc/ctprof/ctprof.conf, line 3)" for each option that add_settings() added
// and the sentence names: whoever did not type an option must learn who did.
std::string origins_in(std::string_view sentence);

}  // namespace ctprof::cli
