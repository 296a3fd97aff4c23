// Which metrics are shown or compared, from the definitions that the files carry.
//
// Metrics keep the order of their columns, derived ones after the others of their entity. A metric
// that two files define differently, or whose rule nobody here knows, is left out, and a sentence
// says so.
//
// What is here:   the choice, with the rule of each metric.
// What is not:    readings (compare/figures/rollup.hpp).

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
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct PlannedMetric {
  std::string name;
  Entity entity = Entity::Thread;
  std::string unit;
  std::string section;
  std::vector<std::string> tags;  // tags_of()
  bool adds_up = false;           // cumulative, so that a group's part of the whole has a meaning
  const ctprof_rule* rule = nullptr;      // null: derived
  const CallOwner* rule_owner = nullptr;  // null: the rule is built in
  bool is_sum = false;                    // by the rule, so that a part of the rows has a meaning
  bool is_maximum = false;                // or one of the rows is the group's value
  bool counts_rows = false;               // thread_count, which has no column
  std::optional<Expression> expression;   // of a derived metric
  std::optional<std::string> key;         // of a map, which is its only input (key_metrics.hpp)
  std::string map_keys;                   // what its definition says of a map's keys
  std::vector<std::optional<std::size_t>> inputs;  // of the expression: which metric, or none here
  bool shown = true;                               // or is it only the input of one that is
  bool left_out = false;  // it has no readings, for want of room (affordable.hpp)

  // Whether a group's value is one number.
  bool has_number() const { return expression || key || (rule && rule->number); }
  // Whether the value is a map, told key by key.
  bool is_map() const { return rule && rule->parts; }
  // Whether this key of the map counts up.
  bool key_adds_up(std::string_view of_map) const;
};

struct MetricPlan {
  std::vector<PlannedMetric> metrics;
  std::vector<std::string> notes;
  bool tells_busiest = true;  // whether the busiest thread of each group is wanted

  const PlannedMetric* find(std::string_view name) const;
};

// What loaded plugins have to say beside the files: rules, and derived metrics for a file that has
// none of its own. What it points to outlives all that is made with it.
struct Knowledge {
  const RuleBook* rules = nullptr;
  std::span<const DerivedDef> derived;
};

// The error names a metric of `spec` that no file holds, and offers the nearest.
Result<MetricPlan> plan_metrics(std::span<const Snapshot* const> sides, const Spec& spec,
                                const Knowledge& knowledge);

}  // namespace ctprof
