// ctprof compare: prints the differences between windows, snapshots, directories of runs or hosts.

#include <optional>
#include <utility>

#include "core/render/columns.hpp"
#include "tools/ctprof/commands/report_output.hpp"
#include "tools/ctprof/inputs/sides.hpp"
#include "tools/ctprof/options/command.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {
namespace {

struct DisplayFormat {
  Result<void> operator()(const OptionUse& use, std::optional<ColumnChoice>& out) const {
    if (use.last().empty()) return {};
    CTPROF_TRY_VALUE(auto columns, parse_display_format(use.last()));
    out = std::move(columns);
    return {};
  }
};

constexpr auto kCompareOptions = option_list<PrintedReportOptions>(
    kCsvSafe, kIdle, kVerbose, kMetrics, kSections, kGroupBy, kEntity, kNoNormalize, kCgroupFlatten,
    kWhere, kDerive, kFailOn, kAbout, kShares, kAlphaOption, kMinShiftOption, kSortBy, kLifetime,
    kVs, kSpan,
    switch_on("rate", member<&LayoutOptions::rate>, "Also show changes of counters per second."),
    kLimit,
    option("display-format", "FORMAT", member<&LayoutOptions::display_format>, DisplayFormat(),
           "Select columns: arrow (default), full, delta-only, no-pct or pct-only.")
        .overridden_by("columns"),
    kColumns, kDetails, kWrap, kScreenAndSchema, kPluginChoice, kQuietAndHelp);

int run_compare(const PrintedReportOptions& options) {
  if (options.arguments.empty() && !options.vs.empty()) return fail(missing_side_error());
  if (options.arguments.empty())
    return fail("missing FILE; usage: ctprof compare BEFORE AFTER; see `ctprof compare --help`");
  if (!may_need_host_snapshot(options))
    if (auto dropped = drop_privileges(); !dropped) return fail(dropped.error());
  return print_requested_report(options);
}

}  // namespace

extern constinit const CommandInfo kCompareCommand =
    make_command<PrintedReportOptions, run_compare>(
        {.name = "compare",
         .similar_names = "diff,delta,cmp,benchstat,vs",
         .arguments = "BEFORE AFTER... | A... --vs B...",
         .summary = "compare windows, snapshots, directories of runs or hosts",
         .example = "ctprof compare before.ctprof.zst after.ctprof.zst --limit 20",
         .max_arguments = kAnyNumber,
         .reads_kernel = true,
         .prints_csv = true},
        kCompareOptions);

}  // namespace ctprof::cli
