#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/compare/request/expressions.hpp"
#include "tools/ctprof/commands/report.hpp"
#include "tools/ctprof/inputs/compared_runs.hpp"

namespace ctprof::cli {
namespace {

// Default number of text lines. --limit 0 removes the limit, for use by programs.
constexpr std::size_t kTextLimit = 500;

}  // namespace

bool wants_details(const Options& options) {
  return options.details || options.columns || !options.display_format.empty() || options.rate ||
         !options.derive.empty() || !options.fail_on.empty();
}

bool prints_tables(const Options& options) {
  return wants_details(options) || !options.sort_by.empty() || options.metrics ||
         !options.sections.empty() || options.plugins.has_value();
}

namespace {

// Adds the options whose values are expressions.
Result<void> add_expressions(Spec& spec, const Options& options, ReportKind kind) {
  for (const std::string& text : options.where)
    if (auto added = add_condition(spec.where, text); !added) return added.error();
  for (const std::string& text : options.derive) {
    auto derived = parse_derive(text);
    if (!derived) return derived.error();
    spec.derive.push_back(std::move(*derived));
  }
  for (const std::string& text : options.fail_on) {
    auto condition = parse_fail_on(text, kind == ReportKind::Compare);
    if (!condition) return condition.error();
    spec.fail_on.push_back(std::move(*condition));
  }
  return {};
}

}  // namespace

Result<Spec> make_spec(const Options& options, ReportKind kind) {
  Spec spec;
  const auto group_by = parse_group_by(options.group_by);
  if (!group_by) return group_by.error();
  spec.group_by = *group_by;
  if (*group_by == GroupBy::ProcessText) spec.group_metric = options.group_by;
  spec.literal_names = options.literal_names;
  spec.cgroups.only_globs = options.literal_cgroups;
  for (const std::string& text : options.cgroup_flatten) {
    auto glob = PathGlob::parse(text);
    if (!glob) return glob.error();
    spec.cgroups.flatten_globs.push_back(std::move(*glob));
  }
  if (!options.sort_by.empty()) {
    auto sort = parse_sort(options.sort_by, kind);
    if (!sort) return sort.error();
    spec.sort = std::move(*sort);
  }
  if (options.metrics) {
    auto metrics = parse_names(join_texts(*options.metrics, ","), "metrics");
    if (!metrics) return metrics.error();
    spec.metrics = std::move(*metrics);
  }
  if (!options.sections.empty()) {
    auto sections = parse_sections(options.sections);
    if (!sections) return sections.error();
    spec.sections = std::move(*sections);
  }
  if (options.plugins) spec.plugins = *options.plugins;
  spec.rate = options.rate;
  if (auto added = add_expressions(spec, options, kind); !added) return added.error();
  const bool text = options.format == Format::Text;
  spec.busiest = options.format == Format::Json;
  const bool page = options.command_name == "report";  // it has its own limits
  spec.limit = options.limit.value_or(text && !page ? kTextLimit : 0);
  spec.only_changed = text;
  spec.folds_waits = text && !page;
  if (!options.about.empty()) {
    if (options.metrics || !options.sections.empty() || options.plugins)
      return Error{"--about tests headlines: omit --metrics, --sections and --plugins"};
    auto about = parse_about(options.about, axis_word(spec));
    if (!about) return about.error();
    spec.about = std::move(*about);
  }
  if (options.command_name != "noise")
    spec.record_comparison = [about = spec.about ? spec.about->text() : std::string()](
                                 std::string_view runs) { return record_comparison(runs, about); };
  spec.significance = {options.alpha, options.min_shift};
  spec.tests_rows = !text || prints_tables(options);
  return spec;
}

}  // namespace ctprof::cli
