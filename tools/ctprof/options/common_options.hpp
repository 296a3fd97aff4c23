// The options that every command takes, and those that select plugins.

#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "tools/ctprof/options/option.hpp"
#include "tools/ctprof/options/option_parsers.hpp"

namespace ctprof::cli {

enum class Format { Text, Json, Csv };
enum class Color { Auto, Always, Never };

struct CommonOptions {
  std::string command_name{};            // empty: none
  std::vector<std::string> arguments{};  // files, mostly
  std::string command_line{};            // quoted for a shell
  bool help = false;
  bool version = false;  // without a command
  bool json_schema = false;
  bool verbose = false;
  bool quiet = false;
  bool pager = true;
  Format format = Format::Text;
  Color color = Color::Auto;
  std::optional<std::vector<std::string>> plugins{};  // --plugins: exactly these
  std::vector<std::string> plugin_path{};
  std::vector<std::string> plugin_settings{};  // PLUGIN.KEY=VALUE, for plugins

  // Checks options against each other. Structs that derive from this one replace it and call it.
  Result<void> check(const CommandLine&) { return {}; }
};

// --metrics of commands that read the host, and of those that show files.
struct MetricChoice {
  std::optional<std::vector<std::string>> metrics{};  // none: the default of the command
};

inline constexpr std::array kFormats{Word{"text", Format::Text}, Word{"json", Format::Json},
                                     Word{"csv", Format::Csv}};
inline constexpr std::array kColors{Word{"auto", Color::Auto}, Word{"always", Color::Always},
                                    Word{"never", Color::Never}};

inline constexpr auto kVerbose =
    switch_on("verbose,v", member<&CommonOptions::verbose>,
              "Also name the plugins and files that are read; capture and record also name "
              "processes and metrics that could not be read.");
inline constexpr auto kFormat =
    option("format", "text|json|csv", member<&CommonOptions::format>, OneOf<kFormats>(),
           "Select the output for people or for programs. csv: only show and compare.");
inline constexpr auto kJsonSchema =
    switch_on("json-schema", member<&CommonOptions::json_schema>,
              "Print the JSON schema of the output of --format json, and exit.")
        .only_typed();
inline constexpr auto kColor =
    option("color", "auto|always|never", member<&CommonOptions::color>, OneOf<kColors>(),
           "Use colors. auto: on a terminal. NO_COLOR is respected.");
inline constexpr auto kNoPager =
    switch_off("no-pager", member<&CommonOptions::pager>,
               "Do not start a pager on a terminal. Default: CTPROF_PAGER, PAGER, or less.");
inline constexpr auto kQuiet =
    switch_on("quiet,q", member<&CommonOptions::quiet>, "Print only errors.");
inline constexpr auto kHelp =
    switch_on("help,h", member<&CommonOptions::help>, "Print this text.").only_typed();

// Every command has these options, in the order of the help: kVerbose; kScreen or kScreenAndSchema;
// kQuietAndHelp.
inline constexpr std::array kScreen{kFormat, kColor, kNoPager};
inline constexpr std::array kScreenAndSchema{kFormat, kJsonSchema, kColor, kNoPager};
inline constexpr std::array kQuietAndHelp{kQuiet, kHelp};

inline constexpr auto kPlugins =
    option("plugins", "NAME,...", member<&CommonOptions::plugins>, NameList(),
           "Use exactly these plugins, or show only the metrics that they filled.");
inline constexpr auto kPluginPath =
    option("plugin-path", "DIR", member<&CommonOptions::plugin_path>, AllTexts(),
           "Also search DIR for plugins. Can be repeated.");
inline constexpr std::array kPluginChoice{kPlugins, kPluginPath};
inline constexpr auto kSet =
    option("set", "PLUGIN.KEY=VALUE", member<&CommonOptions::plugin_settings>, AllTexts(),
           "Set an option of a plugin; `ctprof plugins` lists them. Can be repeated.");

inline constexpr auto kMetrics =
    option("metrics", "NAME,...", member<&MetricChoice::metrics>, NameList(),
           "Select only these metrics. show and compare also accept METRIC[KEY], one key of a map "
           "(METRIC[\"KEY\"] if the key has brackets or quotes; write a quote as \\\").");

}  // namespace ctprof::cli
