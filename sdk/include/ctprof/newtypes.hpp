// The two tables of meaning: newtypes (what a reading is) and rules (how a group's readings become
// one).
//
// A newtype names the rules that are legal for it; any other pairing is one of a few mistakes, each
// with a sentence. The compiler says it to whoever declares a metric in C++ (metric.hpp), and the
// core says the same to a plugin whose table was made by other means.
//
// What is here:   the tables, the check, the sentences. To add a newtype or a rule, add a line.
// What is not:    how a rule computes (core), and rules that plugins bring (abi.h, ctprof_rule).

#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "ctprof/abi.h"

namespace ctprof {

struct NewtypeInfo {
  std::string_view name;
  ctprof_storage storage;
  std::string_view family;  // how it behaves in time; only what is cumulative becomes a rate
  std::string_view unit;
  std::string_view rules;  // the legal ones, with commas between
};

inline constexpr std::array kNewtypes{
    NewtypeInfo{"MonotonicCount", CTPROF_U64, "cumulative", "count", "SumCount"},
    NewtypeInfo{"DeadCounter", CTPROF_U64, "cumulative", "none", "Dead"},
    NewtypeInfo{"MonotonicNs", CTPROF_U64, "cumulative", "ns", "SumNs"},
    NewtypeInfo{"MonotonicUs", CTPROF_U64, "cumulative", "us", "SumUs"},
    NewtypeInfo{"Bytes", CTPROF_U64, "cumulative", "bytes", "SumBytes"},
    NewtypeInfo{"ClockTicks", CTPROF_U64, "cumulative", "ticks", "SumTicks"},
    NewtypeInfo{"PeakNs", CTPROF_U64, "peak", "ns", "MaxPeak"},
    NewtypeInfo{"PeakBytes", CTPROF_U64, "peak", "bytes", "MaxPeakBytes"},
    NewtypeInfo{"PeakCount", CTPROF_U64, "peak", "count", "MaxPeakCount"},
    NewtypeInfo{"GaugeNs", CTPROF_U64, "gauge", "ns", "MaxGaugeNs"},
    NewtypeInfo{"GaugeCount", CTPROF_U64, "gauge", "count", "MaxGaugeCount,SumGaugeCount"},
    NewtypeInfo{"GaugeBytes", CTPROF_U64, "gauge", "bytes", "MaxGaugeBytes"},
    NewtypeInfo{"GaugeRatio100", CTPROF_U64, "gauge", "percent", "MaxRatio"},
    NewtypeInfo{"OrdinalI32", CTPROF_I64, "categorical", "none", "RangeI32,MaxOrdinal"},
    NewtypeInfo{"OrdinalU32", CTPROF_U64, "categorical", "none", "RangeU32"},
    NewtypeInfo{"OrdinalU64", CTPROF_U64, "limit", "none", "MaxOrdinal,RangeU64"},
    NewtypeInfo{"CategoricalString", CTPROF_STRING, "categorical", "none", "Mode"},
    NewtypeInfo{"Char", CTPROF_STRING, "categorical", "none", "ModeChar"},
    NewtypeInfo{"Flag", CTPROF_BOOL, "categorical", "none", "ModeBool,AnyFlag"},
    NewtypeInfo{"CpuSet", CTPROF_BITSET, "categorical", "cpus", "Affinity"},
    NewtypeInfo{"LimitBytes", CTPROF_U64, "limit", "bytes", "LimitMax"},
    NewtypeInfo{"LimitCount", CTPROF_U64, "limit", "count", "LimitMax"},
    NewtypeInfo{"LimitUs", CTPROF_U64, "limit", "us", "LimitMax"},
    NewtypeInfo{"FloorBytes", CTPROF_U64, "limit", "bytes", "FloorMin"},
    NewtypeInfo{"CountMap", CTPROF_MAP, "cumulative", "count", "MapSum"},
    NewtypeInfo{"BytesMap", CTPROF_MAP, "cumulative", "bytes", "MapSum"},
    NewtypeInfo{"KibMap", CTPROF_MAP, "gauge", "kib", "MapSum"},
    NewtypeInfo{"MixedMap", CTPROF_MAP, "gauge", "none", "MapMixed"},
    NewtypeInfo{"Derived", CTPROF_F64, "gauge", "none", "Formula"},
    NewtypeInfo{"IdU32", CTPROF_U64, "identity", "none", "Key"},
    NewtypeInfo{"IdU64", CTPROF_U64, "identity", "none", "Key"},
    NewtypeInfo{"IdText", CTPROF_STRING, "identity", "text", "Key"},
};

enum class Reduction { Sum, Max, Min, Range, Mode, Affinity, PerKey, None };

struct RuleInfo {
  std::string_view name;
  Reduction reduction;
  std::string_view unit;  // the one unit that it is about; empty: any
};

inline constexpr std::array kRules{
    RuleInfo{"SumCount", Reduction::Sum, "count"},
    RuleInfo{"SumNs", Reduction::Sum, "ns"},
    RuleInfo{"SumUs", Reduction::Sum, "us"},
    RuleInfo{"SumTicks", Reduction::Sum, "ticks"},
    RuleInfo{"SumBytes", Reduction::Sum, "bytes"},
    RuleInfo{"SumGaugeCount", Reduction::Sum, "count"},
    RuleInfo{"MaxPeak", Reduction::Max, "ns"},
    RuleInfo{"MaxPeakBytes", Reduction::Max, "bytes"},
    RuleInfo{"MaxPeakCount", Reduction::Max, "count"},
    RuleInfo{"MaxGaugeNs", Reduction::Max, "ns"},
    RuleInfo{"MaxGaugeCount", Reduction::Max, "count"},
    RuleInfo{"MaxGaugeBytes", Reduction::Max, "bytes"},
    RuleInfo{"MaxRatio", Reduction::Max, "percent"},
    RuleInfo{"MaxOrdinal", Reduction::Max, "none"},
    RuleInfo{"LimitMax", Reduction::Max, ""},
    RuleInfo{"FloorMin", Reduction::Min, "bytes"},
    RuleInfo{"RangeI32", Reduction::Range, "none"},
    RuleInfo{"RangeU32", Reduction::Range, "none"},
    RuleInfo{"RangeU64", Reduction::Range, "none"},
    RuleInfo{"Mode", Reduction::Mode, ""},
    RuleInfo{"ModeChar", Reduction::Mode, ""},
    RuleInfo{"ModeBool", Reduction::Mode, ""},
    RuleInfo{"AnyFlag", Reduction::Mode, ""},
    RuleInfo{"Affinity", Reduction::Affinity, "cpus"},
    RuleInfo{"MapSum", Reduction::PerKey, ""},
    RuleInfo{"MapMixed", Reduction::PerKey, ""},
    RuleInfo{"Formula", Reduction::None, ""},
    RuleInfo{"Key", Reduction::None, ""},
    RuleInfo{"Dead", Reduction::None, ""},
};

// Finds `name` in one of the two tables; null when it is not there.
template <class Table>
constexpr auto find_named(const Table& table, std::string_view name) -> decltype(table.data()) {
  auto it =
      std::find_if(table.begin(), table.end(), [&](const auto& item) { return item.name == name; });
  return it == table.end() ? nullptr : &*it;
}
constexpr const NewtypeInfo* find_newtype(std::string_view name) {
  return find_named(kNewtypes, name);
}
constexpr const RuleInfo* find_rule(std::string_view name) { return find_named(kRules, name); }

// Whether `word` stands in `list`, whose words have commas between.
constexpr bool is_listed(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    list = comma == list.npos ? std::string_view{} : list.substr(comma + 1);
  }
  return false;
}

// What a pairing of a newtype with a rule is: fine, or which mistake.
enum class Pairing { Fits, PeakSummed, UnitsDiffer, DeadReduced, CategoryCounted, WithoutMeaning };

constexpr Pairing pairing(const NewtypeInfo& newtype, const RuleInfo& rule) {
  const bool counts = rule.reduction == Reduction::Sum || rule.reduction == Reduction::Max ||
                      rule.reduction == Reduction::Min;
  const bool category = newtype.storage == CTPROF_STRING || newtype.storage == CTPROF_BOOL ||
                        newtype.storage == CTPROF_BITSET;
  if (is_listed(newtype.rules, rule.name)) return Pairing::Fits;
  if (newtype.name == "DeadCounter") return Pairing::DeadReduced;
  if (newtype.family == "peak" && rule.reduction == Reduction::Sum) return Pairing::PeakSummed;
  if (category && (counts || rule.reduction == Reduction::Range)) return Pairing::CategoryCounted;
  if (!rule.unit.empty() && newtype.unit != rule.unit) return Pairing::UnitsDiffer;
  return Pairing::WithoutMeaning;
}

// One sentence a mistake; macros, because static_assert takes nothing but a literal.
#define CTPROF_SAYS_PEAK_SUMMED \
  "a peak does not add up: the sum of several threads' longest moments is no moment of anyone's"
#define CTPROF_SAYS_UNITS_DIFFER                                                                  \
  "newtype and rule are about different units: readings in one unit cannot be reduced by a rule " \
  "for another"
#define CTPROF_SAYS_DEAD_REDUCED \
  "a dead counter never moves: its only rule is Dead, which lists it and reduces nothing"
#define CTPROF_SAYS_CATEGORY_COUNTED \
  "a category is a name, not a quantity: it has no sum, largest, smallest or range"
#define CTPROF_SAYS_WITHOUT_MEANING                                                                \
  "this newtype has no meaning under this rule: take one of the rules that its line in kNewtypes " \
  "names"

constexpr std::string_view sentence(Pairing pairing) {
  switch (pairing) {
    case Pairing::Fits: return "";
    case Pairing::PeakSummed: return CTPROF_SAYS_PEAK_SUMMED;
    case Pairing::UnitsDiffer: return CTPROF_SAYS_UNITS_DIFFER;
    case Pairing::DeadReduced: return CTPROF_SAYS_DEAD_REDUCED;
    case Pairing::CategoryCounted: return CTPROF_SAYS_CATEGORY_COUNTED;
    case Pairing::WithoutMeaning: break;
  }
  return CTPROF_SAYS_WITHOUT_MEANING;
}

}  // namespace ctprof
