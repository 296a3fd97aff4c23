// ctprof config: prints the settings and where they come from.

#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/text.hpp"
#include "core/registry/loader.hpp"
#include "core/render/terminal_text.hpp"
#include "tools/ctprof/cli/command_table.hpp"
#include "tools/ctprof/commands/commands.hpp"
#include "tools/ctprof/options/settings.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/pager.hpp"

namespace ctprof::cli {
namespace {

using Sources = std::vector<SettingsSource>;

constexpr std::string_view kNoneHere =
    "this ctprof has file capabilities: it reads only its command line and no configuration "
    "files\n";

// Whether another setting takes precedence for every command to which this one applies.
bool is_overridden(const Setting& setting, const Sources& sources) {
  for (const Verb& verb : verbs()) {
    if (!setting.verb.empty() && setting.verb != verb.name) continue;
    for (const Setting& counts : settings_of(verb.name, sources))
      if (counts.option == setting.option && counts.origin == setting.origin) return false;
  }
  return true;
}

// "record: freq = 499", "no-pager = true"
std::string in_words(const Setting& setting) {
  const std::string verb = setting.verb.empty() ? "" : setting.verb + ": ";
  const std::string value = setting.values.empty() ? "true" : joined(setting.values, " and ");
  return verb + setting.option + " = " + value;
}

std::string text_of(const Sources& sources) {
  std::string places = "settings, highest priority first; the command line overrides all:\n";
  std::string set;
  for (const SettingsSource& source : sources) {
    places += "  " + printable(source.name) + ": " + printable(source.state) + "\n";
    for (const std::string& sentence : source.ignored)
      places += "    " + printable(sentence) + "\n";
    for (const Setting& setting : source.settings)
      set += "  " + printable(in_words(setting)) + "    (" + printable(setting.origin) +
             (is_overridden(setting, sources) ? "; overridden" : "") + ")\n";
  }
  for (const char* variable : kOtherVariables)
    if (const char* value = std::getenv(variable))
      set += "  " + printable(std::string(variable) + " = " + value) + "    (environment)\n";
  return places + (set.empty() ? "\nnothing is set: every option has its default\n"
                               : "\n" + set + "\nevery other option has its default\n");
}

void put_setting(JsonWriter& out, const Setting& setting, const Sources& sources) {
  out.put('{');
  out.member("option", setting.option);
  if (!setting.verb.empty()) out.member("verb", setting.verb);
  out.key("values");
  out.put('[');
  const std::vector<std::string> on{"true"};
  for (const std::string& value : setting.values.empty() ? on : setting.values) {
    out.text(value);
    out.put(',');
  }
  out.close(']');
  out.put(',');
  out.member("origin", setting.origin);
  out.key("overridden");
  out.boolean(is_overridden(setting, sources));
  out.close('}');
  out.put(',');
}

std::string json_of(const Sources& sources) {
  JsonWriter out(Escape::Unshowable);
  out.raw("{\"schema\":1,\"sources\":[");
  for (const SettingsSource& source : sources) {
    out.put('{');
    out.member("name", source.name);
    out.member("state", source.state);
    out.key("settings");
    out.put('[');
    for (const Setting& setting : source.settings) put_setting(out, setting, sources);
    out.close(']');
    out.close('}');
    out.put(',');
  }
  out.close(']');
  out.close('}');
  out.put('\n');
  return std::string(out.view());
}

}  // namespace

int run_config(const Options& options) {
  const auto sources = read_settings(&why_unknown_command);
  if (!sources) return fail(sources.error());
  if (options.format == Format::Json) return print(json_of(*sources));
  return page(options, runs_privileged() ? std::string(kNoneHere) : text_of(*sources));
}

}  // namespace ctprof::cli
