#include "core/rules/rule_set.hpp"

#include <algorithm>

namespace ctprof {
namespace rules {
namespace {

void add_nothing(void*, const ctprof_rows*) {}
void merge_nothing(void*, const void*) {}

// A rule without reduction and state, which aggregation skips.
constexpr ctprof_rule inert_rule(const char* name, const char* newtypes, const char* description) {
  ctprof_rule rule = make_rule<char>(name, newtypes, description, CTPROF_REDUCES_OTHERWISE,
                                     add_nothing, merge_nothing);
  rule.state_size = 0;
  return rule;
}

// An identity groups rows, a dead counter never changes, and a formula is computed from aggregates
// (compare/figures/rollup.hpp).
constexpr ctprof_rule kInert[] = {
    inert_rule("Formula", "Derived", "computed from a group's aggregates"),
    inert_rule("Key", "IdU32,IdU64,IdText", "identifies or groups rows"),
    inert_rule("Dead", "DeadCounter", "no value: the kernel no longer updates the field"),
};

}  // namespace

std::span<const ctprof_rule> inert() { return kInert; }

}  // namespace rules

namespace {

std::vector<const ctprof_rule*> collect_builtin_rules() {
  std::vector<const ctprof_rule*> rules;
  for (const auto kind : {rules::sums(), rules::extremes(), rules::fractions(), rules::bounds(),
                          rules::ranges(), rules::modes(), rules::affinity(), rules::maps(),
                          rules::histograms(), rules::stacks(), rules::inert()})
    for (const ctprof_rule& rule : kind) rules.push_back(&rule);
  return rules;
}

const ctprof_rule* find_builtin(std::string_view name) {
  const auto rules = builtin_rules();
  const auto it = std::find_if(rules.begin(), rules.end(),
                               [&](const ctprof_rule* rule) { return rule->name == name; });
  return it == rules.end() ? nullptr : *it;
}

}  // namespace

std::span<const ctprof_rule* const> builtin_rules() {
  static const std::vector<const ctprof_rule*> rules = collect_builtin_rules();
  return rules;
}

void RuleSet::add(const ctprof_rule& rule, std::string_view plugin, std::string_view file) {
  if (find(rule.name)) return;
  plugin_rules_.push_back({&rule, std::string(plugin), std::string(file)});
}

const RuleSet::PluginRuleEntry* RuleSet::find_plugin_rule(const ctprof_rule& rule) const {
  const auto it = std::find_if(plugin_rules_.begin(), plugin_rules_.end(),
                               [&](const PluginRuleEntry& entry) { return entry.rule == &rule; });
  return it == plugin_rules_.end() ? nullptr : &*it;
}

const ctprof_rule* RuleSet::find(std::string_view name, std::string_view fallback,
                                 bool* used_fallback) const {
  if (used_fallback) *used_fallback = false;
  if (const ctprof_rule* rule = find_builtin(name)) return rule;
  for (const PluginRuleEntry& entry : plugin_rules_)
    if (entry.rule->name == name) return entry.rule;
  const ctprof_rule* fallback_rule = find_builtin(fallback);
  if (used_fallback) *used_fallback = fallback_rule != nullptr;
  return fallback_rule;
}

}  // namespace ctprof
