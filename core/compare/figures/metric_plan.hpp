// Which metrics are shown or compared, from the definitions that the files carry.
//
// Metrics are in the order of their columns, derived ones after the others of their entity, and
// totals of counters that derived levels read (PlannedMetric::total_of) at the end. A metric that
// two files define differently, or whose rule is unknown in this version, is left out, and a note
// says so.
//
// Not here: metrics that the user adds (added_metrics.hpp), values (run_figures.hpp).

#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/expression/expression.hpp"
#include "core/registry/plugin_call.hpp"
#include "core/rules/rule_book.hpp"
#include "core/rules/stacks.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct PlannedMetric {
  std::string name;
  Entity entity = Entity::Thread;
  std::string unit;
  std::string family;  // of its definition
  std::string section;
  std::vector<std::string> tags;          // tags_of()
  bool adds_up = false;                   // cumulative, so a group has a share of the whole
  const ctprof_rule* rule = nullptr;      // null: derived
  const CallOwner* rule_owner = nullptr;  // null: the rule is built in
  bool is_sum = false;                    // the rule adds up, so each thread has a part in it
  bool is_maximum = false;                // the rule takes the largest, so one thread has it
  bool counts_rows = false;               // thread_count, which has no column
  std::optional<Expression> expression;   // of a derived metric
  std::optional<std::string> key;         // of a map, which is its only input (added_metrics.hpp)
  std::string map_keys;                   // what its definition says of a map's keys
  bool has_stacks = false;                // its cells are weighted sets of stacks
  bool of_window = false;                 // a peak in the window, not of a thread's life
  std::optional<Headline> headline;       // a column of the first screen
  std::string role{};                     // of its definition
  bool setting = false;                   // chosen by the user or administrator
  bool never_negative = false;            // a derived metric whose result below zero is no value
  bool is_third_party = false;            // a plugin's that is not ctprof's own
  std::vector<std::optional<std::size_t>> inputs;  // of the expression, in the plan; none: unknown
  bool shown = true;                               // otherwise it is only an input
  // The total of this counter where a window has its difference; only an input, of a derived level.
  std::string total_of{};
  bool left_out = false;  // it has no values, because the files ask for too much (allowance.hpp)

  // Whether a group's value is one number.
  bool has_number() const { return expression || key || (rule && rule->number); }
  // Whether the value is a map, told key by key.
  bool is_map() const { return rule && rule->parts; }
  // Whether its stacks can be told one by one: they are added up by the built-in rule.
  bool tells_stacks() const { return has_stacks && rules::gathers_stacks(*rule); }
  // Whether the map's rule adds up this key, so that it is zero where there are no rows.
  bool key_is_sum(std::string_view of_map) const;
  // Whether this key of the map counts up.
  bool key_adds_up(std::string_view of_map) const;
};

struct MetricPlan {
  std::vector<PlannedMetric> metrics;
  std::vector<std::string> notes;
  bool tells_busiest = true;  // whether to find the busiest thread of each group

  const PlannedMetric* find(std::string_view name) const;
  // The metric that is shown in the first screen's column of that label; null where none is.
  const PlannedMetric* find_column(std::string_view label) const;
  // Whether cells of a metric are stacks, so that figures need the stacks' numbers (RunNodes).
  bool has_stacks() const;
};

// What loaded plugins add to the files: rules, and derived metrics for files without any. REQUIRES:
// what it points to outlives everything that is made with it.
struct Knowledge {
  const RuleBook* rules = nullptr;
  std::span<const DerivedDef> derived;
};

// The error names a metric of `spec` that no file has, with the nearest one.
Result<MetricPlan> plan_metrics(std::span<const Snapshot* const> sides, const Spec& spec,
                                const Knowledge& knowledge);

}  // namespace ctprof
