#include "tools/ctprof/options/settings.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "core/base/text.hpp"
#include "core/registry/loader.hpp"
#include "ctprof/files.hpp"

namespace ctprof::cli {
namespace {

constexpr const char* kHostFile = "/etc/ctprof/ctprof.conf";
constexpr std::string_view kConfigSubpath = "/ctprof/ctprof.conf";

// Largest file in bytes. A longer file is probably not a configuration file.
constexpr std::size_t kMaxFileBytes = 64 << 10;

// Values of a switch.
constexpr const char* kOn = "true";
constexpr const char* kOff = "false";

std::vector<std::string> settable_option_names(CommandSpan commands) {
  std::vector<std::string> names;
  for (const OptionSpec* option : list_options(commands))
    if (option->is_settable) names.emplace_back(long_name(*option));
  return names;
}

// Returns what is wrong with the setting, or an empty string. Afterwards a switch that is on has no
// values, and one that is off has the value "false".
std::string check_setting(Setting& setting, CommandSpan commands) {
  const OptionSpec* option = find_option(commands, setting.option);
  if (!option)
    return "unknown option '" + setting.option + "'" +
           suggest_nearest(setting.option, settable_option_names(commands));
  if (!option->is_settable)
    return "'" + setting.option + "' cannot be set; use --" + setting.option +
           " on the command line";
  if (!setting.command.empty() &&
      !find_option(find_command(commands, setting.command)->options, setting.option))
    return "'" + setting.command + "' does not take --" + setting.option;
  if (option->value) return {};
  const std::string& value = setting.values.front();
  if (value != kOn && value != kOff)
    return "'" + setting.option + "' is true or false, not '" + value + "'";
  if (value == kOn) setting.values.clear();
  return {};
}

// --- files ---

// Returns why root must not use this file, or an empty string. Any user who can write it could
// control root's commands.
std::string reason_to_refuse(const struct stat& file) {
  if (::geteuid() != 0) return {};
  if (file.st_uid != 0)
    return "it belongs to user " + std::to_string(file.st_uid) + ", and ctprof runs as root";
  const bool by_group = (file.st_mode & S_IWGRP) != 0 && file.st_gid != 0;
  if (by_group || (file.st_mode & S_IWOTH) != 0)
    return "users other than root may write to it, and ctprof runs as root";
  return {};
}

// Reads an open file.
Result<std::string> read_text(int fd, const std::string& path) {
  std::string text(kMaxFileBytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t bytes_read = ::read(fd, text.data() + size, text.size() - size);
    if (bytes_read < 0 && errno == EINTR) continue;
    if (bytes_read < 0) return errno_error("reading", path, errno);
    if (bytes_read == 0) break;
    size += static_cast<std::size_t>(bytes_read);
  }
  if (size > kMaxFileBytes) return error("reading", path, "it is larger than 64 KiB");
  text.resize(size);
  return {boost::system::in_place_value, std::move(text)};
}

Error error_in_line(const std::string& path, std::size_t line, const std::string& why) {
  return {path + ", line " + std::to_string(line) + ": " + why};
}

// Removes the comment and the surrounding blanks. A comment begins at a # at the start of the line,
// or after a blank and outside quotes, so that values may contain a #.
std::string_view strip_comment(std::string_view line) {
  bool is_quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\\' && is_quoted)
      ++at;
    else if (line[at] == '"')
      is_quoted = !is_quoted;
    else if (line[at] == '#' && !is_quoted &&
             (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t'))
      line = line.substr(0, at);
  }
  return sdk::trimmed(line);
}

// Returns "show" for "[show]", and none for other lines. REQUIRES: the line is trimmed.
std::optional<std::string> parse_section(std::string_view line) {
  if (line.size() < 2 || line.front() != '[' || line.back() != ']') return std::nullopt;
  return std::string(sdk::trimmed(line.substr(1, line.size() - 2)));
}

// Parses the setting in one line. REQUIRES: the line is trimmed and not empty.
Result<Setting> parse_setting(std::string_view line) {
  const auto equals = line.find('=');
  const std::string option(sdk::trimmed(line.substr(0, equals)));
  if (equals == line.npos || option.empty())
    return Error{"'" + std::string(line) + "' is neither 'option = value' nor '[command]'"};
  return Setting{option, {}, {std::string(sdk::trimmed(line.substr(equals + 1)))}, {}};
}

// Merges lines for the same option and command into one setting.
void add_setting(std::vector<Setting>& settings, Setting setting) {
  const auto same = std::ranges::find_if(settings, [&](const Setting& known) {
    return known.option == setting.option && known.command == setting.command;
  });
  if (same == settings.end()) return settings.push_back(std::move(setting));
  std::ranges::move(setting.values, std::back_inserter(same->values));
}

Result<std::vector<Setting>> parse_settings(const std::string& path, const std::string& text,
                                            CommandSpan commands,
                                            ExplainUnknownCommand explain_unknown_command) {
  std::vector<Setting> settings;
  std::istringstream lines(text);
  std::string command;
  std::size_t number = 0;
  for (std::string text_of_line; std::getline(lines, text_of_line);) {
    ++number;
    const std::string_view line = strip_comment(text_of_line);
    if (line.empty()) continue;
    if (auto section = parse_section(line)) {
      command = std::move(*section);
      if (auto problem = explain_unknown_command(command); !problem.empty())
        return error_in_line(path, number, problem);
      continue;
    }
    auto setting = parse_setting(line);
    if (!setting) return error_in_line(path, number, setting.error().text);
    setting->command = command;
    setting->origin = path + ", line " + std::to_string(number);
    if (auto problem = check_setting(*setting, commands); !problem.empty())
      return error_in_line(path, number, problem);
    add_setting(settings, std::move(*setting));
  }
  return settings;
}

Result<SettingsSource> read_settings_file(const std::string& path, CommandSpan commands,
                                          ExplainUnknownCommand explain_unknown_command) {
  SettingsSource source{path, "not there", false, {}, {}};
  const sdk::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return source;
  // With sudo, HOME may be that of another user, whose file this user cannot read.
  if (!file && errno == EACCES)
    return SettingsSource{path, "this user may not read it", false, {}, {}};
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return errno_error("reading", path, errno);
  if (!S_ISREG(status.st_mode)) return error("reading", path, "it is not a regular file");
  source.state = reason_to_refuse(status);
  source.is_refused = !source.state.empty();
  if (source.is_refused) return source;
  CTPROF_TRY_VALUE(const auto text, read_text(file.get(), path));
  CTPROF_TRY_VALUE(auto settings, parse_settings(path, text, commands, explain_unknown_command));
  std::stable_partition(settings.begin(), settings.end(),
                        [](const Setting& setting) { return !setting.command.empty(); });
  source.state = "read";
  source.settings = std::move(settings);
  return source;
}

// Returns an empty string if there is no such path. Relative paths are ignored, as the XDG Base
// Directory Specification requires.
std::string user_config_path() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config && *config == '/') return config + std::string(kConfigSubpath);
  const char* home = std::getenv("HOME");
  return home && *home == '/' ? home + ("/.config" + std::string(kConfigSubpath)) : "";
}

// --- the environment ---

constexpr std::string_view kPrefix = "CTPROF_";

// Returns why a variable is ignored, or an empty string if it is used or is not one of ctprof's.
std::string reason_if_ignored(const std::string& variable, CommandSpan commands) {
  if (!variable.starts_with(kPrefix) || std::ranges::count(kNonOptionVariables, variable) > 0)
    return {};
  std::vector<std::string> known_variables;
  for (const OptionSpec* option : list_options(commands)) {
    const std::string name = variable_name(long_name(*option));
    if (name == variable)
      return option->is_settable ? ""
                                 : variable + " is ignored: use --" +
                                       std::string(long_name(*option)) + " on the command line";
    if (option->is_settable) known_variables.push_back(name);
  }
  return variable + " is ignored: it sets no option" + suggest_nearest(variable, known_variables);
}

std::vector<std::string> ignored_variables(CommandSpan commands) {
  std::vector<std::string> sentences;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const auto why = reason_if_ignored(std::string(text.substr(0, text.find('='))), commands);
    if (!why.empty()) sentences.push_back(why);
  }
  std::ranges::sort(sentences);
  return sentences;
}

Result<SettingsSource> read_environment(CommandSpan commands) {
  SettingsSource source{"environment", "read", false, {}, ignored_variables(commands)};
  for (const OptionSpec* option : list_options(commands)) {
    // CTPROF_PLUGIN_PATH is a list of directories, which need not exist (load_plugins.cc).
    if (!option->is_settable || long_name(*option) == "plugin-path") continue;
    const std::string variable = variable_name(long_name(*option));
    const char* value = std::getenv(variable.c_str());
    if (!value || !*value) continue;
    Setting setting{std::string(long_name(*option)), {}, {value}, variable};
    if (auto problem = check_setting(setting, commands); !problem.empty())
      return Error{variable + ": " + problem};
    source.settings.push_back(std::move(setting));
  }
  return source;
}

std::vector<Setting> g_applied_settings;

}  // namespace

std::string variable_name(std::string_view option) {
  std::string name = "CTPROF_";
  for (const char c : option)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

Result<std::vector<SettingsSource>> read_settings(CommandSpan commands,
                                                  ExplainUnknownCommand explain_unknown_command) {
  std::vector<SettingsSource> sources;
  if (runs_privileged()) return sources;
  CTPROF_TRY_VALUE(auto environment, read_environment(commands));
  sources.push_back(std::move(environment));
  for (const std::string& path : {user_config_path(), std::string(kHostFile)}) {
    if (path.empty()) continue;
    CTPROF_TRY_VALUE(auto file, read_settings_file(path, commands, explain_unknown_command));
    sources.push_back(std::move(file));
  }
  return sources;
}

std::vector<Setting> settings_for_command(const CommandInfo& command,
                                          const std::vector<SettingsSource>& sources) {
  std::vector<Setting> found;
  for (const SettingsSource& source : sources)
    for (const Setting& setting : source.settings) {
      if (!setting.command.empty() && setting.command != command.name) continue;
      const bool is_set_already = std::ranges::any_of(
          found, [&](const Setting& other) { return other.option == setting.option; });
      if (!is_set_already && find_option(command.options, setting.option)) found.push_back(setting);
    }
  return found;
}

namespace {

// Removes the settings that do not apply to this command line.
void remove_inapplicable(std::vector<Setting>& settings, const CommandInfo& command,
                         const CommandLine& line) {
  std::erase_if(settings, [&](const Setting& setting) {
    const char* const overriding = find_option(command.options, setting.option)->overriding_option;
    return line.has(setting.option) || setting.values == std::vector<std::string>{kOff} ||
           (overriding && line.has(overriding));
  });
  const std::vector<Setting> all = settings;
  std::erase_if(settings, [&](const Setting& setting) {
    const char* const required = find_option(command.options, setting.option)->required_option;
    return required && !line.has(required) &&
           std::ranges::find(all, required, &Setting::option) == all.end();
  });
}

}  // namespace

void add_settings(const CommandInfo& command, const std::vector<SettingsSource>& sources,
                  CommandLine& line) {
  std::vector<Setting> settings = settings_for_command(command, sources);
  remove_inapplicable(settings, command, line);
  for (const Setting& setting : settings) line.values[setting.option] = setting.values;
  g_applied_settings = std::move(settings);
}

std::string describe_origins(std::string_view sentence) {
  std::string origins;
  for (const Setting& setting : g_applied_settings) {
    const std::string option = "--" + setting.option;
    const auto at = sentence.find(option);
    if (at == sentence.npos) continue;
    const auto next = sentence.substr(at + option.size());
    const bool is_longer = !next.empty() && (next[0] == '-' || (next[0] >= 'a' && next[0] <= 'z'));
    if (!is_longer) origins += " (" + option + " is set in " + setting.origin + ")";
  }
  return origins;
}

}  // namespace ctprof::cli
