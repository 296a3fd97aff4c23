// ctprof report: writes the results of show or compare as an HTML page.

#include <string>
#include <vector>

#include "core/page/report_page.hpp"
#include "tools/ctprof/commands/report.hpp"
#include "tools/ctprof/inputs/capture_arguments.hpp"
#include "tools/ctprof/inputs/default_names.hpp"
#include "tools/ctprof/inputs/screen_metrics.hpp"
#include "tools/ctprof/options/command.hpp"
#include "tools/ctprof/options/output_options.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/output_file.hpp"
#include "tools/ctprof/runtime/privileges.hpp"
#include "tools/ctprof/runtime/progress.hpp"

namespace ctprof::cli {
namespace {

struct PageOptions : ReportOptions, OutputOptions {};

constexpr auto kPageOptions = option_list<PageOptions>(
    kOutput, kWriting, kVerbose, kMetrics, kSections, kGroupBy, kNoNormalize, kCgroupFlatten,
    kWhere, kDerive, kAbout, kShares, kAlphaOption, kMinShiftOption, kLifetime, kVs, kSpan, kLimit,
    kDetails, kScreen, kPluginChoice, kQuietAndHelp);

Result<void> check_page_output(const PageOptions& options) {
  if (is_standard_output(options.output) || options.output.ends_with(".html")) return {};
  return Error{"invalid -o '" + options.output + "': the name must end in .html"};
}

int write_page(const Report& report, std::span<const std::string> files, const PageOptions& options,
               const Target& target) {
  if (report.sides().size() > 2)
    return fail(
        "a page compares at most two sides; usage: ctprof report BEFORE... --vs AFTER... -o "
        "report.html");
  const bool all = options.details || !options.derive.empty();
  const PageStyle style{options.command_line, all, std::string(kRecordWaitsCommand),
                        make_span_command(options)};
  const ActivityProgress busy(options, "writing " + target.name);
  const auto written = write_to(target, options, [&](Sink& sink) {
    return sink.write(make_report_page(report, files, style));
  });
  return written ? report_written_file(options, target, *written) : fail(written.error());
}

int run_report(const PageOptions& parsed_options) {
  if (parsed_options.arguments.empty() && !parsed_options.vs.empty())
    return fail(missing_side_error());
  if (parsed_options.arguments.empty())
    return fail(
        "missing FILE; usage: ctprof report BEFORE... --vs AFTER... -o report.html; see `ctprof "
        "report --help`");
  PageOptions options = parsed_options;
  if (options.output.empty())
    options.output = default_output_name(options.arguments.front(), ".html");
  const auto target = open_checked_target(options, kPageFile);
  if (!target) return fail(target.error());
  if (auto valid = check_page_output(options); !valid) return fail(valid.error());
  return make_and_print_report(
      options, [&](const Report& report, std::span<const std::string> files, const ColumnChoice&) {
        return write_page(report, files, options, *target);
      });
}

}  // namespace

extern constinit const CommandInfo kReportCommand = make_command<PageOptions, run_report>(
    {.name = "report",
     .similar_names = "html,page",
     .arguments = "FILE | BEFORE... --vs AFTER... [-o FILE.html]",
     .summary = "write an HTML page of one recording or of a comparison",
     .example = "ctprof report before/ --vs after/ -o report.html",
     .max_arguments = kAnyNumber},
    kPageOptions);

}  // namespace ctprof::cli
