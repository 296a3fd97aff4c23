// Determines the metrics of a report from the definitions in the files.
//
// Metrics are in the order of their columns. Derived metrics follow the other metrics of their
// entity, and totals of counters that derived gauges read (PlannedMetric::counter_of_total) are
// last. A metric that two files define differently, or whose rule is unknown in this version, is
// omitted with a note.
//
// See also: added_metrics.hpp adds the user's metrics, run_figures.hpp computes values.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/request/spec.hpp"
#include "core/expression/expression.hpp"
#include "core/registry/plugin_call.hpp"
#include "core/rules/histograms.hpp"
#include "core/rules/rule_set.hpp"
#include "core/rules/stacks.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct PlannedMetric {
  std::string name;
  Entity entity = Entity::Thread;
  std::string unit;
  std::string family;  // from its definition
  std::string section;
  std::vector<std::string> tags;          // tags_of()
  bool is_cumulative = false;             // cumulative, so a group has a share of the total
  const ctprof_rule* rule = nullptr;      // null: derived
  const CallOwner* rule_owner = nullptr;  // null: the rule is built in
  bool is_sum = false;                    // the rule is a sum, so each thread contributes
  bool is_maximum = false;                // the rule is a maximum, so one thread has the value
  bool counts_rows = false;               // the metric thread_count, which has no column
  std::optional<Expression> expression;   // of a derived metric
  std::optional<std::string> key;         // a key of its only input, a map (added_metrics.hpp)
  std::string map_keys;                   // the definition of the map's keys
  std::string labels{};                   // the names of the labels of the map's keys
  bool has_stacks = false;                // its cells are weighted sets of stacks
  bool is_window_peak = false;            // a peak within the window, not over a thread's life
  std::optional<Headline> headline;       // a column of the first screen
  std::string role{};                     // from its definition
  std::optional<FindingDef> finding{};    // of a derived metric
  bool is_setting = false;                // set by the user or administrator
  bool is_never_negative = false;  // a derived metric; a result below zero becomes a missing value
  bool is_third_party = false;     // of a plugin that is not part of ctprof
  // Inputs of the expression, as indices in the plan; no value: unknown.
  std::vector<std::optional<std::size_t>> inputs;
  bool is_shown = true;  // false: only an input
  // For a total: the name of its counter. Only an input of a derived gauge in a window, where the
  // counter itself is a difference.
  std::string counter_of_total{};
  bool is_omitted = false;  // no values, because the files exceed their allowance (allowance.hpp)

  // Returns whether the value of a group is one number.
  bool has_number() const { return expression || key || (rule && rule->number); }
  // Returns whether the value is a map, which is shown key by key.
  bool is_map() const { return rule && rule->parts; }
  // Returns whether the parts of the map are derived from the buckets of a histogram.
  bool is_histogram() const { return rule && rules::is_histogram_rule(*rule); }
  // Returns whether its stacks can be listed: the built-in rule adds them up.
  bool has_listable_stacks() const { return has_stacks && rules::is_stack_sum(*rule); }
  // Returns whether the map's rule adds up this key, so that the key is zero if there are no rows.
  bool key_is_sum(std::string_view map_key) const;
  // Returns whether this key of the map is a counter.
  bool key_is_cumulative(std::string_view map_key) const;
};

struct MetricPlan {
  std::vector<PlannedMetric> metrics;
  std::vector<std::string> notes;
  bool finds_busiest_threads = true;  // find the busiest thread of each group

  const PlannedMetric* find(std::string_view name) const;
  // Returns the metric shown in the first screen's column with that label; null if there is none.
  const PlannedMetric* find_column(std::string_view label) const;
  // Returns whether cells of a metric are stacks, so that the stacks need numbers
  // (RunStackNumbers).
  bool has_stacks() const;
};

// Definitions that loaded plugins add to those of the files: rules, and derived metrics for files
// without any. REQUIRES: the referenced objects outlive everything that uses them.
struct PluginDefinitions {
  const RuleSet* rules = nullptr;
  std::span<const DerivedDef> derived;
};

}  // namespace ctprof
