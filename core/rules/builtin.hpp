// The built-in rules, by kind. rule_book.hpp finds them by name.

#pragma once

#include <span>

#include "ctprof/abi.h"

namespace ctprof::rules {

std::span<const ctprof_rule> sums();       // SumCount, SumNs ...: adds up
std::span<const ctprof_rule> extremes();   // MaxPeak, MaxRatio, AnyFlag ...: the largest
std::span<const ctprof_rule> fractions();  // SumGaugeF64, MaxGaugeF64, MeanGaugeF64
std::span<const ctprof_rule> bounds();     // LimitMax, FloorMin: limits, which may be unbounded
std::span<const ctprof_rule> ranges();     // RangeI32 ...: smallest and largest
std::span<const ctprof_rule> modes();      // Mode, ModeChar, ModeBool: what most are
std::span<const ctprof_rule> affinity();   // Affinity
std::span<const ctprof_rule> maps();       // MapSum, MapMixed: key by key
std::span<const ctprof_rule> inert();      // Formula, Key, Dead: nothing is reduced

// What a rule that has no number puts as its difference where the two sides are alike.
inline constexpr const char* kSame = "same";
inline constexpr const char* kDiffers = "differs";

}  // namespace ctprof::rules
