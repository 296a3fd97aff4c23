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
#include "tools/ctprof/fleet/fleet.hpp"
#include "tools/ctprof/fleet/questions.hpp"
#include "tools/ctprof/live/keys.hpp"
#include "tools/ctprof/options/option_descriptions.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/pager.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

// A topic of help that is not a metric.
constexpr std::string_view kHelpOnFindings = "findings";

// The metrics for help and metric-list: those of one file, or of the loaded plugins.
class CatalogSource {
 public:
  // `file` contains at most one name. Fails if it cannot be read, or if no plugin can be loaded.
  static Result<CatalogSource> open(const Options& options, std::span<const std::string> file) {
    CatalogSource source;
    if (file.empty()) {
      auto registry = load_metrics(options);
      if (!registry) return registry.error();
      source.plugins_.emplace(std::move(*registry));
    } else {
      auto loaded = ReportFiles::load(file.front(), options);
      if (!loaded) return loaded.error();
      source.file_.emplace(std::move(*loaded));
    }
    return source;
  }

  // The result is valid while this object exists.
  MetricCatalog catalog() const {
    return file_ ? MetricCatalog::of(file_->snapshots().front(), *file_->knowledge().rules)
                 : MetricCatalog::of(*plugins_);
  }

 private:
  CatalogSource() = default;

  std::optional<ReportFiles> file_;
  std::optional<Registry> plugins_;
};

// Formats a line of a list. Wraps the description, unless the terminal is too narrow.
std::string list_line(std::string name, std::size_t indent, std::string_view what) {
  name = "  " + name;
  name.resize(std::max(indent, name.size() + 1), ' ');
  const std::size_t width = terminal_width();
  if (width < 2 * indent) return name + std::string(what) + "\n";
  std::string text;
  for (const std::string& line : folded(what, width - indent))
    text += (text.empty() ? name : std::string(indent, ' ')) + line + "\n";
  return text;
}

std::string keys_help() {
  std::string text = "\nKeys:\n";
  for (const live::KeyInfo& key : live::keys())
    text += list_line(std::string(key.shown), 18, key.help);
  return text;
}

std::string questions_help() {
  std::string text = "Subcommands:\n";
  for (const FleetQuestion& question : fleet_questions())
    text += list_line(std::string(question.name) + " " + std::string(question.arguments), 28,
                      question.what);
  return text + "\n`ctprof fleet SUBCOMMAND --help` describes the options of a subcommand.\n";
}

TextLayout text_layout(const Options& options) { return {text_width(), use_color(options)}; }

}  // namespace

std::string overview() {
  std::string text = "ctprof: a host-wide per-thread profiler.\n\nExamples:\n";
  for (const Verb& verb : verbs()) text += "  " + std::string(verb.example) + "\n";
  text += "\nUsage: ctprof COMMAND [OPTION...] [FILE...]\n\n";
  for (const Verb& verb : verbs()) text += list_line(std::string(verb.name), 16, verb.summary);
  return text +
         "\n`ctprof COMMAND --help` shows its options, `ctprof help METRIC [FILE]` describes a "
         "metric\nor a column such as %wait, `ctprof help findings` tells when causes are "
         "printed.\n";
}

std::string usage_of(const Verb& verb) {
  const std::string usage =
      "ctprof " + std::string(verb.name) + (verb.run == &run_fleet ? "" : " [OPTION...]");
  return verb.arguments.empty() ? usage : usage + " " + std::string(verb.arguments);
}

std::string more_examples(const Verb& verb) {
  return verb.run == &run_record
             ? "  ctprof record --recorders on-cpu,off-cpu -d 5s -o stacks.ctprof.zst\n"
               "  ctprof record -o build.ctprof.zst -- make -j4\n"
             : "";
}

std::string help_of(const Verb& verb) {
  return ctprof::wrapped(
             "ctprof " + std::string(verb.name) + ": " + std::string(verb.summary) + ".",
             terminal_width()) +
         "\nExample:\n  " + std::string(verb.example) + "\n" + more_examples(verb) +
         "\nUsage: " + usage_of(verb) + "\n\n" +
         (verb.run == &run_fleet ? questions_help() : options_help(std::string(verb.name))) +
         (verb.run == &run_live ? keys_help() : "");
}

Error unexpected_argument(const std::string& argument, const std::string& usage) {
  return {"unexpected argument '" + argument + "'; usage: " + usage};
}

int help_on_metric(const Options& options) {
  const std::string& name = options.arguments.front();
  if (options.arguments.size() > 2)
    return fail(unexpected_argument(options.arguments[2], "ctprof help METRIC [FILE]"));
  if (name == kHelpOnFindings && options.format != Format::Json)
    return page(options, findings_help(text_layout(options)));
  const auto source = CatalogSource::open(options, std::span(options.arguments).subspan(1));
  if (!source) return fail(source.error());
  const MetricCatalog catalog = source->catalog();
  const bool json = options.format == Format::Json;
  const std::string text =
      json ? metric_help_json(catalog, name) : metric_help(catalog, name, text_layout(options));
  if (!text.empty()) return json ? print(text) : page(options, text);
  return fail("unknown command or metric '" + name + "'" + verb_hint(name, catalog.names()) +
              "; see `ctprof --help` and `ctprof metric-list`");
}

int run_metric_list(const Options& options) {
  const auto source = CatalogSource::open(options, options.arguments);
  if (!source) return fail(source.error());
  const MetricCatalog catalog = source->catalog();
  return options.format == Format::Json
             ? print(metric_list_json(catalog))
             : page(options, metric_list_text(catalog, text_layout(options)));
}

int print_schema(std::string_view verb) {
  const auto schema = std::find_if(std::begin(kSchemas), std::end(kSchemas),
                                   [&](const Schema& s) { return s.command == verb; });
  return schema == std::end(kSchemas) ? fail("no schema exists for '" + std::string(verb) + "'")
                                      : print(schema->text);
}

}  // namespace ctprof::cli
