// The rule set: finds the rules that reduce readings to one value, by name.
//
// Built-in rules and rules of plugins have the same form (abi.h, ctprof_rule), so there is only one
// way to aggregate.
//
// This header contains the lookup of rules, the built-in rules by kind, and their common functions.
// See also: one file for each kind of rule, compare/figures/rollup.hpp for their use.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ctprof/abi.h"

namespace ctprof {

// Returns all built-in rules.
std::span<const ctprof_rule* const> builtin_rules();

class RuleSet {
 public:
  // Creates a set that contains only the built-in rules.
  RuleSet() = default;
  // Adds a plugin's rule, which must outlive the set; does nothing if a rule with this name
  // exists. `file` is the plugin's library.
  void add(const ctprof_rule& rule, std::string_view plugin, std::string_view file = {});

  // Returns the rule with this name, otherwise the built-in `fallback`, otherwise null. Sets
  // `used_fallback` to whether it is the fallback.
  const ctprof_rule* find(std::string_view name, std::string_view fallback = {},
                          bool* used_fallback = nullptr) const;

  // A rule of a plugin, with the plugin's name and library.
  struct PluginRuleEntry {
    const ctprof_rule* rule;
    std::string plugin;
    std::string file;
  };
  const PluginRuleEntry* find_plugin_rule(const ctprof_rule& rule) const;
  std::span<const PluginRuleEntry> plugin_rules() const { return plugin_rules_; }

 private:
  std::vector<PluginRuleEntry> plugin_rules_;
};

}  // namespace ctprof

namespace ctprof::rules {

std::span<const ctprof_rule> sums();        // SumCount, SumNs ...: sum
std::span<const ctprof_rule> extremes();    // MaxPeak, MaxRatio, AnyFlag ...: maximum
std::span<const ctprof_rule> fractions();   // SumGaugeF64, MaxGaugeF64, MeanGaugeF64: doubles
std::span<const ctprof_rule> bounds();      // LimitMax, FloorMin: limits, which may be unlimited
std::span<const ctprof_rule> ranges();      // RangeI32 ...: smallest and largest
std::span<const ctprof_rule> modes();       // Mode, ModeChar, ModeBool: most frequent category
std::span<const ctprof_rule> affinity();    // Affinity
std::span<const ctprof_rule> maps();        // MapSum, MapMixed: key by key
std::span<const ctprof_rule> histograms();  // HistogramMerge: bucket by bucket
std::span<const ctprof_rule> stacks();      // StackSum: call stacks, stack by stack
std::span<const ctprof_rule> inert();       // Formula, Key, Dead: no reduction

// The difference that a rule reports if it has no number: the sides are equal, or they differ.
inline constexpr const char* kSame = "same";
inline constexpr const char* kDiffers = "differs";

inline constexpr std::uint32_t kNoGroup = UINT32_MAX;

// Calls visit(state, value) for each row that has a value and a group, with the
// state of that group. REQUIRES: State is the rule's state, and T the type of
// rows.storage.
template <class State, class T, class Visit>
void for_each_reading(void* states, const ctprof_rows& rows, Visit visit) {
  auto* state = static_cast<State*>(states);
  const auto* values = static_cast<const T*>(rows.values);
  for (std::uint64_t row = 0; row < rows.count; ++row) {
    if (rows.groups[row] == kNoGroup || (rows.gaps && rows.gaps[row] != CTPROF_VALUE)) continue;
    visit(state[rows.groups[row]], values[row]);
  }
}

inline std::string_view view(ctprof_text text) { return {text.data, text.size}; }
inline ctprof_text text_of(std::string_view text) { return {text.data(), text.size()}; }
inline void put(const ctprof_sink& sink, std::string_view text) {
  sink.put(sink.core, text.data(), text.size());
}

// Returns a rule with this state and the members that every rule has. For members that remain null,
// the core has defaults: it prints the number and subtracts numbers.
template <class State>
constexpr ctprof_rule make_rule(const char* name, const char* newtypes, const char* description,
                                ctprof_reduction reduction, decltype(ctprof_rule::add) add,
                                decltype(ctprof_rule::merge) merge) {
  ctprof_rule rule{};
  rule.size = sizeof rule;
  rule.state_size = sizeof(State);
  rule.name = name;
  rule.newtypes = newtypes;
  rule.description = description;
  rule.reduction = reduction;
  rule.add = add;
  rule.merge = merge;
  return rule;
}

}  // namespace ctprof::rules
