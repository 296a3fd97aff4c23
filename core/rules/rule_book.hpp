// The rule book: how readings become one value, by the rules' names.
//
// Built-in rules are tables of the same kind as a plugin's (abi.h, ctprof_rule), so there is one
// way to aggregate.
//
// What is here:   finding a rule.
// What is not:    the rules (builtin.hpp), using them (compare/figures/rollup.hpp).

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ctprof/abi.h"

namespace ctprof {

// All rules that are built in.
std::span<const ctprof_rule* const> builtin_rules();

class RuleBook {
 public:
  // The built-in rules and nothing else.
  RuleBook() = default;
  // Adds a plugin's rule, which must outlive the book; one that is there already stays. `file` is
  // the plugin's library.
  void add(const ctprof_rule& rule, std::string_view plugin, std::string_view file = {});

  // The rule of that name, or else the built-in `fallback`, or null. `used_fallback` says which.
  const ctprof_rule* find(std::string_view name, std::string_view fallback = {},
                          bool* used_fallback = nullptr) const;

  // Whose rule it is; null for a built-in one.
  struct Added {
    const ctprof_rule* rule;
    std::string plugin;
    std::string file;
  };
  const Added* brought(const ctprof_rule& rule) const;
  std::span<const Added> added() const { return added_; }

 private:
  std::vector<Added> added_;
};

}  // namespace ctprof
