// The rule book: how readings become one value, by the rules' names.
//
// Built-in rules are tables of the same kind as a plugin's (abi.h, ctprof_rule), so there is one
// way to aggregate.
//
// What is here:   finding a rule; the built-in ones by kind, and what they have in common: walking
// rows, putting text, declaring themselves.
// What is not:    how each kind computes (a file each), using rules (compare/figures/rollup.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
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

namespace ctprof::rules {

std::span<const ctprof_rule> sums();       // SumCount, SumNs ...: adds up
std::span<const ctprof_rule> extremes();   // MaxPeak, MaxRatio, AnyFlag ...: the largest
std::span<const ctprof_rule> fractions();  // SumGaugeF64, MaxGaugeF64, MeanGaugeF64: with decimals
std::span<const ctprof_rule> bounds();     // LimitMax, FloorMin: limits, which may be unbounded
std::span<const ctprof_rule> ranges();     // RangeI32 ...: smallest and largest
std::span<const ctprof_rule> modes();      // Mode, ModeChar, ModeBool: what most are
std::span<const ctprof_rule> affinity();   // Affinity
std::span<const ctprof_rule> maps();       // MapSum, MapMixed: key by key
std::span<const ctprof_rule> stacks();     // StackSum: call stacks, by stack
std::span<const ctprof_rule> inert();      // Formula, Key, Dead: nothing is reduced

// What a rule puts as its difference where there is no number to put: the two sides agree, or not.
inline constexpr const char* kSame = "same";
inline constexpr const char* kDiffers = "differs";

inline constexpr std::uint32_t kNoGroup = UINT32_MAX;

// Calls visit(state, value) for each row that has a value and a group, with that group's state.
// REQUIRES: State is the rule's state, and T the type of rows.storage.
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

// A rule with this state, and what every rule has. Whatever stays null, the core does by itself: it
// prints the number, and subtracts one from the other.
template <class State>
constexpr ctprof_rule rule_of(const char* name, const char* newtypes, const char* description,
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
