// ctprof show: prints one window or snapshot.

#include "tools/ctprof/commands/report_output.hpp"
#include "tools/ctprof/inputs/default_names.hpp"
#include "tools/ctprof/options/command.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {
namespace {

constexpr auto kShowOptions = option_list<PrintedReportOptions>(
    kCsvSafe, kIdle, kVerbose, kMetrics, kSections, kGroupBy, kEntity, kNoNormalize, kCgroupFlatten,
    kWhere, kDerive, kFailOn, kSortBy, kLifetime, kSpan, kLimit, kColumns, kDetails, kWrap,
    kScreenAndSchema, kPluginChoice, kQuietAndHelp);

int run_show(const PrintedReportOptions& options) {
  if (!options.arguments.empty()) return print_requested_report(options);
  const auto newest = find_newest_recording();
  if (!newest)
    return fail(
        "missing FILE, and the current directory has no recording; make one with `ctprof record -d "
        "5s`");
  print_note(options, "showing '" + *newest + "', the newest recording here");
  PrintedReportOptions options_with_file = options;
  options_with_file.arguments = {*newest};
  return print_requested_report(options_with_file);
}

}  // namespace

extern constinit const CommandInfo kShowCommand = make_command<PrintedReportOptions, run_show>(
    {.name = "show",
     .similar_names = "view,print,cat,display,open,script,annotate,info",
     .arguments = "[FILE | A..B | DIR]",
     .summary = "show a window or a snapshot by groups of threads",
     .example = "ctprof show before.ctprof.zst..after.ctprof.zst",
     .max_arguments = 2,
     .prints_csv = true},
    kShowOptions);

}  // namespace ctprof::cli
