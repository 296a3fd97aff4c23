// The options whose arguments are expressions: --where, --about, --fail-on and --derive.
//
//   --where 'pcomm =~ "^nginx" && nice < 0'   selects the threads to count and the groups to show
//   --fail-on 'run_time_ns.pct > 10'          selects rows of a comparison; a match exits with 1
//   --fail-on 'run_time_ns > 1000000000'      the same for rows of show
//   --about 'pcomm == "svc"'                  selects the groups to test separately in a comparison
//   --derive 'ipc = instructions / cycles'    defines a metric
//
// These functions check only the text, before any file is opened. The meaning of the names depends
// on the files: see figures/where.hpp, report/fail_on_rows.hpp and figures/added_metrics.hpp.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/expression/condition.hpp"
#include "core/registry/metric_def.hpp"

namespace ctprof {

// Names that a condition can use for properties of a group other than its metrics.
inline constexpr std::string_view kGroupThreads = "threads";  // its number of threads
inline constexpr std::string_view kGroupName = "group";       // its name as shown in text

inline bool is_group_property(std::string_view input) {
  return input == kGroupThreads || input == kGroupName;
}

// The conditions of --where, all of which must be true. A condition that names metrics of threads
// applies to threads. A condition applies to groups if it names `threads`, `group` or a metric that
// only groups have: metrics of processes and cgroups, derived metrics, and thread_count.
struct WhereConditions {
  std::vector<Condition> conditions{};
};

// Adds the parts of the condition that && joins at the top level. Errors concern only the text.
Result<void> add_condition(WhereConditions& where, std::string_view text);

// Parses --about: a condition on group names, or one group name. `axis` is the axis word that names
// groups, such as "pcomm"; the condition can use that word and `group`. It cannot use metrics,
// because the selection of separately tested groups must not depend on measured values. Errors
// concern only the text.
Result<Condition> parse_about(std::string_view text, std::string_view axis);

// Returns whether the condition of --about is true for a group with this name.
bool matches_about(const Condition& condition, std::string_view group);

// Parses a condition on rows. In a comparison, METRIC.pct (percent of the baseline), METRIC.delta,
// METRIC.baseline and METRIC.candidate are numbers of a group, `threads` is its number of threads
// in the candidate, and `group` is its name. Sides with several runs also have METRIC.p,
// METRIC.shift, METRIC.low and METRIC.high, the last three in percent. In show, METRIC is the value
// itself. Errors concern only the text.
Result<Condition> parse_fail_on(std::string_view text, bool is_comparison = true);

enum class Figure : std::uint8_t {
  Percent,
  Delta,
  Baseline,
  Candidate,
  Value,
  P,
  Shift,
  Low,
  High
};
// Returns whether the figure exists only for sides with several runs.
inline bool needs_several_runs(Figure figure) { return figure >= Figure::P; }
struct NamedFigure {
  std::string_view metric;
  Figure figure;
};

// Splits an input such as "run_time_ns.pct" into metric and figure. Any other name is a metric name
// with the figure Value. Returns no value for `group` and `threads`.
std::optional<NamedFigure> parse_figure_name(std::string_view name);

// Parses 'name = expression'. Errors concern only the text. The entity and the unit are derived
// from the inputs once these are known.
Result<DerivedDef> parse_derive(std::string_view text);

// Returns the error "reading --derive '<text>': <cause>".
Error derive_refusal(std::string_view text, const std::string& cause);

}  // namespace ctprof
