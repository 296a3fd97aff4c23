// The built-in rules, by kind, and what they have in common: walking rows, putting text, declaring
// themselves. rule_book.hpp finds a rule by its name.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ctprof/abi.h"

namespace ctprof::rules {

std::span<const ctprof_rule> sums();       // SumCount, SumNs ...: adds up
std::span<const ctprof_rule> extremes();   // MaxPeak, MaxRatio, AnyFlag ...: the largest
std::span<const ctprof_rule> fractions();  // SumGaugeF64, MaxGaugeF64, MeanGaugeF64: with decimals
std::span<const ctprof_rule> bounds();     // LimitMax, FloorMin: limits, which may be unbounded
std::span<const ctprof_rule> ranges();     // RangeI32 ...: smallest and largest
std::span<const ctprof_rule> modes();      // Mode, ModeChar, ModeBool: what most are
std::span<const ctprof_rule> affinity();   // Affinity
std::span<const ctprof_rule> maps();       // MapSum, MapMixed: key by key
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
