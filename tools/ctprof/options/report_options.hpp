// The options of commands that make a report of files: how rows are grouped, which are shown, and
// how differences are tested.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/request/expressions.hpp"
#include "core/compare/request/path_glob.hpp"
#include "core/compare/request/spec.hpp"
#include "core/registry/metric_def.hpp"
#include "core/render/columns.hpp"
#include "tools/ctprof/options/common_options.hpp"
#include "tools/ctprof/options/fraction_options.hpp"
#include "tools/ctprof/options/input_options.hpp"
#include "tools/ctprof/options/option.hpp"

namespace ctprof::cli {

// Whether similar names are merged.
struct MergeOptions {
  bool literal_names = false;
  bool literal_cgroups = false;
};
inline constexpr std::array kNoNormalize{
    switch_on("no-thread-normalize", member<&MergeOptions::literal_names>,
              "Do not merge similar names of processes and threads. Metrics of processes are shown "
              "per process, as NAME[PID]."),
    switch_on("no-cg-normalize", member<&MergeOptions::literal_cgroups>,
              "Do not merge similar cgroup paths.")};

struct GroupByOption {
  std::optional<std::string> group_by{};  // none: pcomm, which windows divide by cgroup

  std::string group_key() const { return group_by.value_or("pcomm"); }
};

struct GroupOptions : MergeOptions, GroupByOption {
  std::string entity{};  // of a plugin, whose rows are shown; empty: threads and built-in entities
  std::vector<PathGlob> cgroup_flatten{};
};
inline constexpr auto kGroupBy =
    option("group-by", "KEY", member<&GroupByOption::group_by>, LastText(),
           "Group threads by pcomm (process name), cgroup, comm (thread name), comm-exact, all, "
           "pid, service (unit, container or pod), tree (a process and all that it started), or a "
           "text metric of processes. Default: pcomm; of a window, processes with the same name in "
           "different cgroups are then different groups. flame and export accept pcomm (with comm "
           "below it), comm, pid, cgroup, all.");
inline constexpr auto kEntity =
    option("entity", "NAME", member<&GroupOptions::entity>, LastText(),
           "Show the rows of an entity that a plugin adds, such as disk, instead of threads: one "
           "group for each row. --where then selects rows: device == \"sda\". `ctprof plugins` "
           "lists the entities.");
inline constexpr auto kCgroupFlatten = option(
    "cgroup-flatten", "GLOB", member<&GroupOptions::cgroup_flatten>, EachParsed<&PathGlob::parse>(),
    "Merge cgroups that match GLOB; ** matches across slashes. Can be repeated.");

// Adds the conditions of all occurrences.
struct AllConditions {
  Result<void> operator()(const OptionUse& use, WhereConditions& out) const;
};
Result<std::vector<std::string>> parse_section_names(const OptionUse& use);

struct WhereOption {
  WhereConditions where{};
};

// Rows and metrics.
struct FilterOptions : MetricChoice, WhereOption {
  std::vector<std::string> sections{};
  std::vector<DerivedDef> derive{};
  std::vector<std::string> fail_on{};  // their operands depend on the number of sides (make_spec)
};
inline constexpr auto kSections =
    option("sections", "NAME,...", member<&FilterOptions::sections>, Parsed<&parse_section_names>(),
           "Select only these sections, as metric-list names them; stacks selects functions and "
           "call stacks.");
inline constexpr auto kWhere = option(
    "where", "EXPR", member<&WhereOption::where>, AllConditions(),
    "Keep threads or groups for which EXPR is true, such as pcomm =~ \"^nginx\" && nice < 0, or "
    "cgroup under \"/a.slice\"; of groups: threads >= 8 && cpu_efficiency < 0.5. Can be repeated.");
inline constexpr auto kDerive =
    option("derive", "NAME=EXPR", member<&FilterOptions::derive>, EachParsed<&parse_derive>(),
           "Add a metric: 'ns_per_csw = run_time_ns / voluntary_csw'. A ratio is a level; a sum of "
           "counters is a counter. Can be repeated.");
inline constexpr auto kFailOn =
    option("fail-on", "EXPR", member<&FilterOptions::fail_on>, AllTexts(),
           "Exit with status 1 and print the rows for which EXPR is true, such as run_time_ns.pct "
           "> 10 && group =~ \"web\". Operands: METRIC.pct, .delta, .baseline, .candidate, group, "
           "threads; with show METRIC. Sums of different parts are not compared. Can be repeated.");

struct ThresholdOptions {
  SignificanceThreshold significance{};
};

struct SharesOption {
  bool shares = false;  // compares functions by their share
};

struct TestOptions : ThresholdOptions, SharesOption {
  std::string about{};  // empty: none
};
inline constexpr auto kAbout =
    option("about", "GROUP|EXPR", member<&TestOptions::about>, LastText(),
           "Test the figures of one group by themselves, as a family of their own, and show them "
           "first: svc, or 'pcomm == \"svc\"'. Choose the group before you look at the comparison. "
           "EXPR tests `group`, or what --group-by names. Cannot be combined with --metrics, "
           "--sections and --plugins.");
inline constexpr auto kShares =
    switch_on("shares", member<&SharesOption::shares>,
              "Compare functions of call stacks by their share of their group's samples instead of "
              "their time per second: finds a function that became more expensive in a service "
              "that gets less CPU time.");
inline constexpr auto kAlphaOption =
    option("alpha", "P", member<&ThresholdOptions::significance, &SignificanceThreshold::alpha>,
           Fraction<kAlpha>(),
           "Set the significance level for sides with several runs. Default: 0.05. --fail-on then "
           "accepts METRIC.p, .shift, .low, .high.");
inline constexpr auto kMinShiftOption =
    option("min-shift", "PERCENT",
           member<&ThresholdOptions::significance, &SignificanceThreshold::min_shift>,
           Fraction<kMinShift>(),
           "Report a difference as significant only if its whole confidence interval is beyond "
           "PERCENT, such as 5%. Default: 0.");

struct IdleOption {
  bool shows_idle = false;
};
inline constexpr auto kIdle =
    switch_on("idle", member<&IdleOption::shows_idle>,
              "Also show idle waits: those in poll, epoll, nanosleep, pause or wait4, and those "
              "that last for half of the window.");

struct LayoutOptions : IdleOption {
  std::string sort_by{};
  bool rate = false;
  std::optional<ColumnChoice> display_format{};  // none: the default
  // Instead of display_format. Their names depend on the number of sides (parse_columns).
  std::optional<std::string> columns{};
  bool wrap = false;
  bool details = false;
  bool csv_safe = false;
  std::optional<std::uint64_t> limit{};  // 0: no limit
};
inline constexpr auto kCsvSafe = switch_on(
    "csv-safe", member<&LayoutOptions::csv_safe>,
    "In CSV for spreadsheets, prefix texts that look like formulas, such as =1+1, with '.");
inline constexpr auto kSortBy = option(
    "sort-by", "KEY,...", member<&LayoutOptions::sort_by>, LastText(),
    "Sort by a column of the first screen as printed (%wait, threads), or, in tables, by movers "
    "(default), delta, pct, name or METRIC. Largest first; -KEY or KEY:asc reverses.");
inline constexpr auto kLimit = option("limit", "N", member<&LayoutOptions::limit>, WholeNumber(),
                                      "Show at most N rows, with --details N lines per section. 0: "
                                      "all. Default: one screen, or 500 lines.");
inline constexpr auto kColumns =
    option("columns", "NAME,...", member<&LayoutOptions::columns>, LastText(),
           "Show exactly these columns: group, threads, metric, tags, uptime, runs, readings; with "
           "show value; with compare baseline, candidate, arrow, delta, %, shift, p, rate, "
           "of-which, life.")
        .overridden_by("display-format");
inline constexpr auto kDetails =
    switch_on("details", member<&LayoutOptions::details>,
              "Show every metric of every group instead of one screen.");
inline constexpr auto kWrap =
    switch_on("wrap", member<&LayoutOptions::wrap>,
              "Break long cells into lines on a terminal instead of truncating them.");

// The options of show, compare, noise, report and export --to prometheus. Each command takes some
// of them.
struct ReportOptions : InputOptions, GroupOptions, FilterOptions, TestOptions, LayoutOptions {
  Result<void> check(const CommandLine& line);
};

}  // namespace ctprof::cli
