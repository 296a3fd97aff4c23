// ctprof config: prints the settings and where they come from.

#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/text.hpp"
#include "core/registry/loader.hpp"
#include "core/render/terminal_text.hpp"
#include "tools/ctprof/cli/command_table.hpp"
#include "tools/ctprof/options/command.hpp"
#include "tools/ctprof/options/settings.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/pager.hpp"

namespace ctprof::cli {
namespace {

using Sources = std::vector<SettingsSource>;

constexpr std::string_view kNoSettingsText =
    "this ctprof has file capabilities: it reads only its command line and no configuration "
    "files\n";

// Whether another setting takes precedence for every command to which this one applies.
bool is_overridden(const Setting& setting, const Sources& sources) {
  for (const CommandInfo* command : command_table()) {
    if (!setting.command.empty() && setting.command != command->name) continue;
    for (const Setting& effective : settings_for_command(*command, sources))
      if (effective.option == setting.option && effective.origin == setting.origin) return false;
  }
  return true;
}

// "record: freq = 499", "no-pager = true"
std::string format_setting(const Setting& setting) {
  const std::string command_prefix = setting.command.empty() ? "" : setting.command + ": ";
  const std::string value = setting.values.empty() ? "true" : join_texts(setting.values, " and ");
  return command_prefix + setting.option + " = " + value;
}

std::string text_of(const Sources& sources) {
  std::string places = "settings, highest priority first; the command line overrides all:\n";
  std::string set;
  for (const SettingsSource& source : sources) {
    places += "  " + make_printable(source.name) + ": " + make_printable(source.state) + "\n";
    for (const std::string& sentence : source.ignored)
      places += "    " + make_printable(sentence) + "\n";
    for (const Setting& setting : source.settings)
      set += "  " + make_printable(format_setting(setting)) + "    (" +
             make_printable(setting.origin) +
             (is_overridden(setting, sources) ? "; overridden" : "") + ")\n";
  }
  for (const char* variable : kNonOptionVariables)
    if (const char* value = std::getenv(variable))
      set += "  " + make_printable(std::string(variable) + " = " + value) + "    (environment)\n";
  return places + (set.empty() ? "\nnothing is set: every option has its default\n"
                               : "\n" + set + "\nevery other option has its default\n");
}

void put_setting(JsonWriter& out, const Setting& setting, const Sources& sources) {
  out.put('{');
  out.member("option", setting.option);
  if (!setting.command.empty()) out.member("verb", setting.command);
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
  JsonWriter out(Escape::Unprintable);
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

constexpr auto kConfigOptions =
    option_list<CommonOptions>(kVerbose, kScreenAndSchema, kQuietAndHelp);

int run_config(const CommonOptions& options) {
  const auto sources = read_settings(all_commands(), &explain_unknown_command);
  if (!sources) return fail(sources.error());
  if (options.format == Format::Json) return print(json_of(*sources));
  return print_paged(options, runs_privileged() ? std::string(kNoSettingsText) : text_of(*sources));
}

}  // namespace

extern constinit const CommandInfo kConfigCommand = make_command<CommonOptions, run_config>(
    {.name = "config",
     .similar_names = "settings,options,conf",
     .summary = "print the configuration and where each setting comes from",
     .example = "ctprof config"},
    kConfigOptions);

}  // namespace ctprof::cli
