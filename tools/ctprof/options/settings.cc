#include "tools/ctprof/options/settings.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/variables_map.hpp>
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

namespace po = boost::program_options;

constexpr const char* kHostFile = "/etc/ctprof/ctprof.conf";
constexpr std::string_view kInHome = "/ctprof/ctprof.conf";

// Largest file in bytes. A longer file is probably not a configuration file.
constexpr std::size_t kMostBytes = 64 << 10;

// Options that cannot be set permanently: outputs, selections for one run, and options that must be
// typed each time.
constexpr std::string_view kNotSet =
    "output,to,vs,pid,interleave,repeat,every,dry-run,since,until,force,redact,redact-key,build,"
    "json-schema,version,help";

// Values of a switch.
constexpr const char* kOn = "true";
constexpr const char* kOff = "false";

const OptionInfo* find_option(std::string_view name) {
  const auto it = std::ranges::find_if(
      kOptions, [&](const OptionInfo& option) { return long_name(option) == name; });
  return it == kOptions.end() ? nullptr : &*it;
}

std::vector<std::string> names_of_options() {
  std::vector<std::string> names;
  for (const OptionInfo& option : kOptions)
    if (can_be_set(option)) names.emplace_back(long_name(option));
  return names;
}

// Returns what is wrong with the setting, or an empty string. Afterwards a switch that is on has no
// values, and one that is off has the value "false".
std::string check(Setting& setting) {
  const OptionInfo* option = find_option(setting.option);
  if (!option)
    return "unknown option '" + setting.option + "'" +
           nearest_hint(setting.option, names_of_options());
  if (!can_be_set(*option))
    return "'" + setting.option + "' cannot be set; use --" + setting.option +
           " on the command line";
  if (!setting.verb.empty() && !is_listed(option->verbs, setting.verb))
    return "'" + setting.verb + "' does not take --" + setting.option;
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
std::string mistrust(const struct stat& file) {
  if (::geteuid() != 0) return {};
  if (file.st_uid != 0)
    return "it belongs to user " + std::to_string(file.st_uid) + ", and ctprof runs as root";
  const bool by_group = (file.st_mode & S_IWGRP) != 0 && file.st_gid != 0;
  if (by_group || (file.st_mode & S_IWOTH) != 0)
    return "others than root may write it, and ctprof runs as root";
  return {};
}

// Reads an open file.
Result<std::string> text_of(int fd, const std::string& path) {
  std::string text(kMostBytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("reading", path, errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMostBytes) return error("reading", path, "it is larger than 64 KiB");
  text.resize(size);
  return {boost::system::in_place_value, std::move(text)};
}

Error in_line(const std::string& path, std::size_t line, const std::string& why) {
  return {path + ", line " + std::to_string(line) + ": " + why};
}

// Removes the comment and the surrounding blanks. A comment begins at a # at the start of the line,
// or after a blank and outside quotes, so that values may contain a #.
std::string_view meant(std::string_view line) {
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
std::optional<std::string> section_in(std::string_view line) {
  if (line.size() < 2 || line.front() != '[' || line.back() != ']') return std::nullopt;
  return std::string(sdk::trimmed(line.substr(1, line.size() - 2)));
}

// Parses the setting in one line. REQUIRES: the line is trimmed and not empty.
Result<Setting> setting_in(std::string_view line) {
  const auto equals = line.find('=');
  const std::string option(sdk::trimmed(line.substr(0, equals)));
  if (equals == line.npos || option.empty())
    return Error{"'" + std::string(line) + "' is neither 'option = value' nor '[command]'"};
  return Setting{option, {}, {std::string(sdk::trimmed(line.substr(equals + 1)))}, {}};
}

// Merges lines for the same option and command into one setting.
void add(std::vector<Setting>& settings, Setting setting) {
  const auto same = std::ranges::find_if(settings, [&](const Setting& known) {
    return known.option == setting.option && known.verb == setting.verb;
  });
  if (same == settings.end()) return settings.push_back(std::move(setting));
  std::ranges::move(setting.values, std::back_inserter(same->values));
}

Result<std::vector<Setting>> parse(const std::string& path, const std::string& text,
                                   WhyUnknownCommand why_unknown_command) {
  std::vector<Setting> settings;
  std::istringstream lines(text);
  std::string verb;
  std::size_t number = 0;
  for (std::string text_of_line; std::getline(lines, text_of_line);) {
    ++number;
    const std::string_view line = meant(text_of_line);
    if (line.empty()) continue;
    if (auto section = section_in(line)) {
      verb = std::move(*section);
      if (auto wrong = why_unknown_command(verb); !wrong.empty())
        return in_line(path, number, wrong);
      continue;
    }
    auto setting = setting_in(line);
    if (!setting) return in_line(path, number, setting.error().text);
    setting->verb = verb;
    setting->origin = path + ", line " + std::to_string(number);
    if (auto wrong = check(*setting); !wrong.empty()) return in_line(path, number, wrong);
    add(settings, std::move(*setting));
  }
  return settings;
}

Result<SettingsSource> read_file(const std::string& path, WhyUnknownCommand why_unknown_command) {
  SettingsSource source{path, "not there", false, {}, {}};
  const sdk::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return source;
  // With sudo, HOME may be that of another user, whose file this user cannot read.
  if (!file && errno == EACCES)
    return SettingsSource{path, "this user may not read it", false, {}, {}};
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) return errno_error("reading", path, errno);
  if (!S_ISREG(facts.st_mode)) return error("reading", path, "it is not a regular file");
  source.state = mistrust(facts);
  source.refused = !source.state.empty();
  if (source.refused) return source;
  const auto text = text_of(file.get(), path);
  if (!text) return text.error();
  auto settings = parse(path, *text, why_unknown_command);
  if (!settings) return settings.error();
  std::stable_partition(settings->begin(), settings->end(),
                        [](const Setting& one) { return !one.verb.empty(); });
  source.state = "read";
  source.settings = std::move(*settings);
  return source;
}

// Returns an empty string if there is no such path. Relative paths are ignored, as the XDG Base
// Directory Specification requires.
std::string file_of_user() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config && *config == '/') return config + std::string(kInHome);
  const char* home = std::getenv("HOME");
  return home && *home == '/' ? home + ("/.config" + std::string(kInHome)) : "";
}

// --- the environment ---

constexpr std::string_view kPrefix = "CTPROF_";

// Returns why a variable is ignored, or an empty string if it is used or is not one of ctprof's.
std::string why_ignored(const std::string& variable) {
  if (!variable.starts_with(kPrefix) || std::ranges::count(kOtherVariables, variable) > 0)
    return {};
  std::vector<std::string> known;
  for (const OptionInfo& option : kOptions) {
    const std::string name = variable_of(long_name(option));
    if (name == variable)
      return can_be_set(option) ? ""
                                : variable + " is ignored: use --" +
                                      std::string(long_name(option)) + " on the command line";
    if (can_be_set(option)) known.push_back(name);
  }
  return variable + " is ignored: it sets no option" + nearest_hint(variable, known);
}

std::vector<std::string> ignored_variables() {
  std::vector<std::string> sentences;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const auto why = why_ignored(std::string(text.substr(0, text.find('='))));
    if (!why.empty()) sentences.push_back(why);
  }
  std::ranges::sort(sentences);
  return sentences;
}

Result<SettingsSource> read_environment() {
  SettingsSource source{"environment", "read", false, {}, ignored_variables()};
  for (const OptionInfo& option : kOptions) {
    // CTPROF_PLUGIN_PATH is a list of directories, which need not exist (options.cc).
    if (!can_be_set(option) || long_name(option) == "plugin-path") continue;
    const std::string variable = variable_of(long_name(option));
    const char* value = std::getenv(variable.c_str());
    if (!value || !*value) continue;
    Setting setting{std::string(long_name(option)), {}, {value}, variable};
    if (auto wrong = check(setting); !wrong.empty()) return Error{variable + ": " + wrong};
    source.settings.push_back(std::move(setting));
  }
  return source;
}

std::vector<Setting> g_in_force;

}  // namespace

bool can_be_set(const OptionInfo& option) { return !is_listed(kNotSet, long_name(option)); }

std::string variable_of(std::string_view option) {
  std::string name = "CTPROF_";
  for (const char c : option)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

Result<std::vector<SettingsSource>> read_settings(WhyUnknownCommand why_unknown_command) {
  std::vector<SettingsSource> sources;
  if (runs_privileged()) return sources;
  auto environment = read_environment();
  if (!environment) return environment.error();
  sources.push_back(std::move(*environment));
  for (const std::string& path : {file_of_user(), std::string(kHostFile)}) {
    if (path.empty()) continue;
    auto file = read_file(path, why_unknown_command);
    if (!file) return file.error();
    sources.push_back(std::move(*file));
  }
  return sources;
}

std::vector<Setting> settings_of(std::string_view verb,
                                 const std::vector<SettingsSource>& sources) {
  std::vector<Setting> found;
  for (const SettingsSource& source : sources)
    for (const Setting& setting : source.settings) {
      if (!setting.verb.empty() && setting.verb != verb) continue;
      const bool is_known = std::ranges::any_of(
          found, [&](const Setting& other) { return other.option == setting.option; });
      if (!is_known && is_listed(find_option(setting.option)->verbs, verb))
        found.push_back(setting);
    }
  return found;
}

namespace {

// Options of `record` and `live` that have no effect without recorders.
constexpr std::string_view kForRecorders =
    "freq,sleepers-freq,offcpu-period,offcpu-stacks,budget,max-depth,unwind,stack-bytes,ring,"
    "debug-dir,inlines";

// Options of `record` that have no effect without --every.
constexpr std::string_view kForAlways = "keep,max-size";

// Pairs: a setting, and the option on the command line that overrides it.
constexpr std::array<std::pair<std::string_view, const char*>, 3> kInPlaceOf{
    {{"columns", "display-format"}, {"display-format", "columns"}, {"layout", "stacks"}}};

bool stands_back(const Setting& setting, const po::variables_map& given) {
  return std::ranges::any_of(kInPlaceOf, [&](const auto& pair) {
    return pair.first == setting.option && given.count(pair.second) > 0;
  });
}

// Removes the settings that do not apply to this command line.
void keep_fitting(std::vector<Setting>& settings, std::string_view verb,
                  const po::variables_map& given) {
  std::erase_if(settings, [&](const Setting& one) {
    return given.count(one.option) > 0 || one.values == std::vector<std::string>{kOff} ||
           stands_back(one, given);
  });
  if (verb == "record" && given.count("every") == 0)
    std::erase_if(settings, [](const Setting& one) { return is_listed(kForAlways, one.option); });
  const bool has_recorders =
      given.count("recorders") > 0 ||
      std::ranges::any_of(settings, [](const Setting& one) { return one.option == "recorders"; });
  if ((verb == "record" || verb == "live") && !has_recorders)
    std::erase_if(settings,
                  [](const Setting& one) { return is_listed(kForRecorders, one.option); });
}

}  // namespace

void add_settings(std::string_view verb, const std::vector<SettingsSource>& sources,
                  const po::options_description& described, po::variables_map& given) {
  std::vector<Setting> settings = settings_of(verb, sources);
  keep_fitting(settings, verb, given);
  po::parsed_options parsed(&described);
  for (const Setting& setting : settings)
    parsed.options.emplace_back(setting.option, setting.values);
  po::store(parsed, given);
  g_in_force = std::move(settings);
}

std::string origins_in(std::string_view sentence) {
  std::string origins;
  for (const Setting& setting : g_in_force) {
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
