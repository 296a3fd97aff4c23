#include "core/rules/rule_book.hpp"

#include <algorithm>

namespace ctprof {
namespace rules {
namespace {

void add_nothing(void*, const ctprof_rows*) {}
void merge_nothing(void*, const void*) {}

// A rule without reduction and state, which aggregation skips.
constexpr ctprof_rule inert_rule(const char* name, const char* newtypes, const char* description) {
  ctprof_rule rule = rule_of<char>(name, newtypes, description, CTPROF_REDUCES_OTHERWISE,
                                   add_nothing, merge_nothing);
  rule.state_size = 0;
  return rule;
}

// An identity groups rows, a dead counter never changes, and a formula is computed from aggregates
// (compare/figures/rollup.hpp).
constexpr ctprof_rule kInert[] = {
    inert_rule("Formula", "Derived", "computed from a group's aggregates"),
    inert_rule("Key", "IdU32,IdU64,IdText", "identifies or groups rows"),
    inert_rule("Dead", "DeadCounter", "listed, never reduced"),
};

}  // namespace

std::span<const ctprof_rule> inert() { return kInert; }

}  // namespace rules

namespace {

std::vector<const ctprof_rule*> gathered() {
  std::vector<const ctprof_rule*> rules;
  for (const auto kind :
       {rules::sums(), rules::extremes(), rules::fractions(), rules::bounds(), rules::ranges(),
        rules::modes(), rules::affinity(), rules::maps(), rules::stacks(), rules::inert()})
    for (const ctprof_rule& rule : kind) rules.push_back(&rule);
  return rules;
}

const ctprof_rule* builtin(std::string_view name) {
  const auto rules = builtin_rules();
  const auto it = std::find_if(rules.begin(), rules.end(),
                               [&](const ctprof_rule* rule) { return rule->name == name; });
  return it == rules.end() ? nullptr : *it;
}

}  // namespace

std::span<const ctprof_rule* const> builtin_rules() {
  static const std::vector<const ctprof_rule*> rules = gathered();
  return rules;
}

void RuleBook::add(const ctprof_rule& rule, std::string_view plugin, std::string_view file) {
  if (find(rule.name)) return;
  added_.push_back({&rule, std::string(plugin), std::string(file)});
}

const RuleBook::Added* RuleBook::brought(const ctprof_rule& rule) const {
  const auto it = std::find_if(added_.begin(), added_.end(),
                               [&](const Added& added) { return added.rule == &rule; });
  return it == added_.end() ? nullptr : &*it;
}

const ctprof_rule* RuleBook::find(std::string_view name, std::string_view fallback,
                                  bool* used_fallback) const {
  if (used_fallback) *used_fallback = false;
  if (const ctprof_rule* rule = builtin(name)) return rule;
  for (const Added& added : added_)
    if (added.rule->name == name) return added.rule;
  const ctprof_rule* stand_in = builtin(fallback);
  if (used_fallback) *used_fallback = stand_in != nullptr;
  return stand_in;
}

}  // namespace ctprof
