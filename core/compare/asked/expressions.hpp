// What the user writes in the grammar of expressions: --where, --about, --fail-on and --derive.
//
//   --where 'pcomm =~ "^nginx" && nice < 0'   which threads are counted, and which groups are shown
//   --fail-on 'run_time_ns.pct > 10'          which rows of a comparison mean exit status 1
//   --fail-on 'run_time_ns > 1000000000'      ... and of what is shown
//   --about 'pcomm == "svc"'                which groups of a comparison are tested by themselves
//   --derive 'ipc = instructions / cycles'    a metric of the user's own
//
// Only the text is checked here, before any file is opened. What the names mean depends on the
// files: see figures/where.hpp, report/failed_rows.hpp and figures/added_metrics.hpp.

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

// What conditions can ask of a group besides its metrics.
inline constexpr std::string_view kGroupThreads = "threads";  // how many it has
inline constexpr std::string_view kGroupName = "group";       // as text shows it

inline bool is_of_groups(std::string_view input) {
  return input == kGroupThreads || input == kGroupName;
}

// The conditions of --where, all of which must be true. One is about threads if it names metrics of
// threads. It is about groups if it names `threads`, `group`, or metrics that only groups have:
// those of processes and cgroups, derived ones, thread_count.
struct Where {
  std::vector<Condition> conditions{};
};

// Adds the parts that && joins at the top level. The error is about the text alone.
Result<void> add_condition(Where& where, std::string_view text);

// Parses --about: a condition on names of groups, or a name. `axis` is what groups are named after,
// such as "pcomm"; the condition knows that word and `group`. Which groups are tested by themselves
// must not depend on figures, so it knows no metrics. The error is about the text alone.
Result<Condition> parse_about(std::string_view text, std::string_view axis);

// Whether the condition of --about is true of a group of that name.
bool is_about(const Condition& condition, std::string_view group);

// Parses a condition on rows. Of a comparison, METRIC.pct (of the baseline, in percent),
// METRIC.delta, METRIC.baseline and METRIC.candidate are numbers of a group, `threads` is its
// number of threads in the candidate, and `group` its name; between sides of several runs there are
// METRIC.p, METRIC.shift, METRIC.low and METRIC.high, the last three in percent. Of what is shown,
// METRIC is the number itself. The error is about the text alone.
Result<Condition> parse_fail_on(std::string_view text, bool of_comparison = true);

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
// Whether only sides of several runs have it.
inline bool is_of_proof(Figure figure) { return figure >= Figure::P; }
struct NamedFigure {
  std::string_view metric;
  Figure figure;
};

// The metric and figure of an input such as "run_time_ns.pct"; another name is that of a metric,
// and means its value. None for `group` and `threads`.
std::optional<NamedFigure> figure_named(std::string_view name);

// Parses 'name = expression'. The error is about the text alone. Entity and unit follow from the
// inputs once they are known.
Result<DerivedDef> parse_derive(std::string_view text);

// "reading --derive '<text>': <cause>"
Error derive_refusal(std::string_view text, const std::string& cause);

}  // namespace ctprof
