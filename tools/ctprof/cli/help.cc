#include "tools/ctprof/cli/help.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/render/findings_text.hpp"
#include "core/render/metric_catalog.hpp"
#include "core/render/metric_help.hpp"
#include "core/render/terminal_text.hpp"
#include "schemas.hpp"
#include "tools/ctprof/commands/report.hpp"
#include "tools/ctprof/options/option_help.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/pager.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

// A topic of help that is not a metric.
constexpr std::string_view kFindingsTopic = "findings";

// The metrics for help and metric-list: those of one file, or of the loaded plugins.
class CatalogSource {
 public:
  // `file` contains at most one name. Fails if it cannot be read, or if no plugin can be loaded.
  static Result<CatalogSource> open(const CommonOptions& options,
                                    std::span<const std::string> file) {
    CatalogSource source;
    if (file.empty()) {
      CTPROF_TRY_VALUE(auto registry, load_metrics(options));
      source.plugins_.emplace(std::move(registry));
    } else {
      CTPROF_TRY_VALUE(auto loaded, ReportFiles::load(file.front(), options));
      source.file_.emplace(std::move(loaded));
    }
    return source;
  }

  // The result is valid while this object exists.
  MetricCatalog catalog() const {
    return file_ ? MetricCatalog::from_snapshot(file_->snapshots().front(),
                                                *file_->definitions().rules)
                 : MetricCatalog::from_registry(*plugins_);
  }

 private:
  CatalogSource() = default;

  std::optional<ReportFiles> file_;
  std::optional<Registry> plugins_;
};

// Formats a line of a list. Wraps the description, unless the terminal is too narrow.
std::string list_line(std::string name, std::size_t indent, std::string_view description) {
  name = "  " + name;
  name.resize(std::max(indent, name.size() + 1), ' ');
  const std::size_t width = terminal_width();
  if (width < 2 * indent) return name + std::string(description) + "\n";
  std::string text;
  for (const std::string& line : fold(description, width - indent))
    text += (text.empty() ? name : std::string(indent, ' ')) + line + "\n";
  return text;
}

std::string format_section(const HelpSection& section) {
  std::string text = section.title + ":\n";
  for (const HelpEntry& entry : section.entries)
    text += list_line(entry.term, section.indent, entry.text);
  return text + section.closing;
}

// The options, and the section if the command has one.
std::string details_of(const CommandInfo& command) {
  if (!command.make_help_section) return options_help(command);
  const std::string section = format_section(command.make_help_section());
  return command.options.empty() ? section : options_help(command) + "\n" + section;
}

TextLayout text_layout(const CommonOptions& options) { return {text_width(), use_color(options)}; }

}  // namespace

std::string overview_text() {
  std::string text = "ctprof: a host-wide per-thread profiler.\n\nExamples:\n";
  for (const CommandInfo* command : command_table())
    text += "  " + std::string(command->example) + "\n";
  text += "\nUsage: ctprof COMMAND [OPTION...] [FILE...]\n\n";
  for (const CommandInfo* command : command_table())
    text += list_line(std::string(command->name), 16, command->summary);
  return text +
         "\n`ctprof COMMAND --help` shows its options, `ctprof help METRIC [FILE]` describes a "
         "metric\nor a column such as %wait, `ctprof help findings` shows when causes are "
         "printed.\n";
}

std::string usage_of(const CommandInfo& command) {
  const std::string usage =
      "ctprof " + std::string(command.name) + (command.options.empty() ? "" : " [OPTION...]");
  return command.arguments.empty() ? usage : usage + " " + std::string(command.arguments);
}

std::string help_of(const CommandInfo& command) {
  return ctprof::wrap_words(
             "ctprof " + std::string(command.name) + ": " + std::string(command.summary) + ".",
             terminal_width()) +
         "\nExample:\n  " + std::string(command.example) + "\n" +
         std::string(command.more_examples) + "\nUsage: " + usage_of(command) + "\n\n" +
         details_of(command);
}

Error unexpected_argument(const std::string& argument, const std::string& usage) {
  return {"unexpected argument '" + argument + "'; usage: " + usage};
}

int print_metric_help(const CommonOptions& options) {
  const std::string& name = options.arguments.front();
  if (options.arguments.size() > 2)
    return fail(unexpected_argument(options.arguments[2], "ctprof help METRIC [FILE]"));
  if (name == kFindingsTopic && options.format != Format::Json)
    return print_paged(options, describe_finding_rules(text_layout(options)));
  const auto source = CatalogSource::open(options, std::span(options.arguments).subspan(1));
  if (!source) return fail(source.error());
  const MetricCatalog catalog = source->catalog();
  const bool json = options.format == Format::Json;
  const std::string text = json ? format_metric_help_json(catalog, name)
                                : format_metric_help(catalog, name, text_layout(options));
  if (!text.empty()) return json ? print(text) : print_paged(options, text);
  return fail("unknown command or metric '" + name + "'" +
              command_hint(name, catalog.get_all_names()) +
              "; see `ctprof --help` and `ctprof metric-list`");
}

namespace {

constexpr auto kMetricListOptions =
    option_list<CommonOptions>(kVerbose, kScreenAndSchema, kPluginChoice, kQuietAndHelp);

int run_metric_list(const CommonOptions& options) {
  const auto source = CatalogSource::open(options, options.arguments);
  if (!source) return fail(source.error());
  const MetricCatalog catalog = source->catalog();
  return options.format == Format::Json
             ? print(format_metric_list_json(catalog))
             : print_paged(options, format_metric_list(catalog, text_layout(options)));
}

}  // namespace

extern constinit const CommandInfo kMetricListCommand =
    make_command<CommonOptions, run_metric_list>(
        {.name = "metric-list",
         .similar_names = "list,ls,metrics,events,fields",
         .arguments = "[FILE]",
         .summary = "list the metrics of all plugins or of one file",
         .example = "ctprof metric-list",
         .max_arguments = 1},
        kMetricListOptions);

int print_schema(std::string_view command) {
  const auto schema = std::find_if(std::begin(kSchemas), std::end(kSchemas),
                                   [&](const Schema& s) { return s.command == command; });
  return schema == std::end(kSchemas) ? fail("no schema exists for '" + std::string(command) + "'")
                                      : print(schema->text);
}

}  // namespace ctprof::cli
