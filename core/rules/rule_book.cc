#include "core/rules/rule_book.hpp"

#include <algorithm>

#include "core/rules/builtin.hpp"

namespace ctprof {
namespace {

std::vector<const ctprof_rule*> gathered() {
  std::vector<const ctprof_rule*> rules;
  for (const auto kind :
       {rules::sums(), rules::extremes(), rules::fractions(), rules::bounds(), rules::ranges(),
        rules::modes(), rules::affinity(), rules::maps(), rules::inert()})
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
