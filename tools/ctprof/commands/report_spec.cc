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

bool wants_details(const ReportOptions& options) {
  return options.details || options.columns || options.display_format || options.rate ||
         !options.derive.empty() || !options.fail_on.empty();
}

bool prints_tables(const ReportOptions& options) {
  return wants_details(options) || !options.sort_by.empty() || options.metrics ||
         !options.sections.empty() || options.plugins.has_value();
}

namespace {

// Adds the options whose values are expressions.
Result<void> add_expressions(Spec& spec, const ReportOptions& options, ReportKind kind) {
  spec.where = options.where;
  spec.derive = options.derive;
  for (const std::string& text : options.fail_on) {
    CTPROF_TRY_VALUE(auto condition, parse_fail_on(text, kind == ReportKind::Compare));
    spec.fail_on.push_back(std::move(condition));
  }
  return {};
}

// Sets the rows that are grouped, and by what.
Result<void> set_axis(Spec& spec, const ReportOptions& options) {
  if (!options.entity.empty()) return select_entity(spec, options.entity);
  CTPROF_TRY_VALUE(const auto group_by, parse_group_by(options.group_key()));
  spec.group_by = group_by;
  if (group_by == GroupBy::ProcessText) spec.group_metric = options.group_key();
  spec.divides_by_cgroup = !options.group_by && options.command_name != "export";
  return {};
}

}  // namespace

Result<Spec> make_spec(const ReportOptions& options, ReportKind kind) {
  Spec spec;
  CTPROF_TRY(set_axis(spec, options));
  spec.literal_names = options.literal_names;
  spec.cgroups.only_globs = options.literal_cgroups;
  spec.cgroups.flatten_globs = options.cgroup_flatten;
  if (!options.sort_by.empty()) {
    CTPROF_TRY_VALUE(auto sort, parse_sort(options.sort_by, kind));
    spec.sort = std::move(sort);
  }
  if (options.metrics) {
    CTPROF_TRY_VALUE(auto metrics, parse_names(join_texts(*options.metrics, ","), "metrics"));
    spec.metrics = std::move(metrics);
  }
  spec.sections = options.sections;
  if (options.plugins) spec.plugins = *options.plugins;
  spec.rate = options.rate;
  CTPROF_TRY(add_expressions(spec, options, kind));
  const bool text = options.format == Format::Text;
  spec.busiest = options.format == Format::Json;
  const bool page = options.command_name == "report";  // it has its own limits
  spec.limit = options.limit.value_or(text && !page ? kTextLimit : 0);
  spec.only_changed = text;
  spec.tests_shares = options.shares;
  spec.folds_waits = text && !page && !options.shares;
  if (!options.about.empty()) {
    if (options.metrics || !options.sections.empty() || options.plugins)
      return Error{"--about tests headlines: omit --metrics, --sections and --plugins"};
    CTPROF_TRY_VALUE(auto about, parse_about(options.about, axis_word(spec)));
    spec.about = std::move(about);
  }
  if (options.command_name != "noise")
    spec.record_comparison = [about = spec.about ? spec.about->text() : std::string()](
                                 std::string_view runs) { return record_comparison(runs, about); };
  spec.significance = options.significance;
  spec.tests_rows = !text || prints_tables(options) || !options.entity.empty();
  return spec;
}

}  // namespace ctprof::cli
