// Metrics, declared with newtype and rule as types.
//
//   inline constexpr sdk::Metric<sdk::PeakNs, sdk::MaxPeak> kWaitMax{{
//       .name = "example_wait_max",
//       .source = "/proc/<tgid>/task/<tid>/sched:wait_max",
//       .description = "Longest single wait for a CPU."}};
//
// A pair without meaning does not compile, and the compiler prints why in a sentence
// (newtypes.hpp).
//
// What is here:   Metric, and a type for every newtype and built-in rule.
// What is not:    filling cells (batch.hpp), offering metrics (source.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ctprof/abi.h"
#include "ctprof/newtypes.hpp"

namespace ctprof::sdk {

enum class Entity : ctprof_entity {
  Thread = CTPROF_THREAD,
  Process = CTPROF_PROCESS,
  Cgroup = CTPROF_CGROUP,
  Host = CTPROF_HOST,
};

// A name as a template argument.
template <std::size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&literal)[N]) {
    std::copy_n(literal, N, text);
  }  // NOLINT: implicit on purpose
  constexpr std::string_view view() const { return {text, N - 1}; }
};

// What a reading is; one alias below for each line of kNewtypes.
template <Name N>
struct Newtype {
  static constexpr const NewtypeInfo* kInfo = find_newtype(N.view());
  static_assert(kInfo != nullptr, "kNewtypes has no newtype of this name");
  static constexpr Name kName = N;
};

// How a group's readings become one; one alias below for each line of kRules.
template <Name N>
struct Rule {
  static constexpr const RuleInfo* kInfo = find_rule(N.view());
  static_assert(kInfo != nullptr,
                "kRules has no rule of this name; a rule of your own is a PluginRule");
  static constexpr Name kName = N;
  static constexpr Pairing with(const NewtypeInfo& newtype) { return pairing(newtype, *kInfo); }
};

// A rule that the plugin itself brings: its name, and the newtypes that its ctprof_rule lists, with
// commas between.
template <Name N, Name Newtypes>
struct PluginRule {
  static constexpr Name kName = N;
  static constexpr Pairing with(const NewtypeInfo& newtype) {
    return is_listed(Newtypes.view(), newtype.name) ? Pairing::Fits : Pairing::WithoutMeaning;
  }
};

// All that a declaration may say; everything but the name and the description has a default. The
// fields are those of ctprof_metric in abi.h, and explained there.
struct About {
  const char* name;
  const char* unit = nullptr;
  const char* family = nullptr;
  const char* section = nullptr;
  const char* sched_class = nullptr;
  const char* config_gates = nullptr;
  const char* applies_to = nullptr;
  const char* since = nullptr;
  const char* source = nullptr;
  const char* description = nullptr;
  const char* kernel_writer = nullptr;
  const char* caveat = nullptr;
  const char* file_path = nullptr;
  const char* file_aliases = nullptr;
  const char* file_unit = nullptr;
  const char* file_absent = nullptr;
  const char* mark = nullptr;
  const char* map_keys = nullptr;
  ctprof_metric_flags flags = 0;
  const ctprof_headline* headline = nullptr;
  const char* role = nullptr;
};

template <class N, class R, Entity E = Entity::Thread>
struct Metric {
  static constexpr Pairing kPairing = R::with(*N::kInfo);
  static_assert(kPairing != Pairing::PeakSummed, CTPROF_SAYS_PEAK_SUMMED);
  static_assert(kPairing != Pairing::UnitsDiffer, CTPROF_SAYS_UNITS_DIFFER);
  static_assert(kPairing != Pairing::DeadReduced, CTPROF_SAYS_DEAD_REDUCED);
  static_assert(kPairing != Pairing::CategoryCounted, CTPROF_SAYS_CATEGORY_COUNTED);
  static_assert(kPairing != Pairing::WithoutMeaning, CTPROF_SAYS_WITHOUT_MEANING);

  using Newtype = N;
  static constexpr ctprof_storage kStorage = N::kInfo->storage;

  constexpr Metric(const About& about)  // NOLINT: implicit on purpose
      : abi{.size = sizeof(ctprof_metric),
            .entity = static_cast<ctprof_entity>(E),
            .storage = kStorage,
            .flags = about.flags,
            .name = about.name,
            .newtype = N::kName.text,
            .rule = R::kName.text,
            .unit = about.unit,
            .family = about.family,
            .section = about.section,
            .sched_class = about.sched_class,
            .config_gates = about.config_gates,
            .applies_to = about.applies_to,
            .since = about.since,
            .source = about.source,
            .description = about.description,
            .kernel_writer = about.kernel_writer,
            .caveat = about.caveat,
            .file_path = about.file_path,
            .file_aliases = about.file_aliases,
            .file_unit = about.file_unit,
            .file_absent = about.file_absent,
            .mark = about.mark,
            .map_keys = about.map_keys,
            .headline = about.headline,
            .role = about.role} {}

  ctprof_metric abi;
};

using MonotonicCount = Newtype<"MonotonicCount">;
using DeadCounter = Newtype<"DeadCounter">;
using MonotonicNs = Newtype<"MonotonicNs">;
using MonotonicUs = Newtype<"MonotonicUs">;
using Bytes = Newtype<"Bytes">;
using ClockTicks = Newtype<"ClockTicks">;
using PeakNs = Newtype<"PeakNs">;
using PeakBytes = Newtype<"PeakBytes">;
using PeakCount = Newtype<"PeakCount">;
using GaugeNs = Newtype<"GaugeNs">;
using GaugeCount = Newtype<"GaugeCount">;
using GaugeBytes = Newtype<"GaugeBytes">;
using GaugeRatio100 = Newtype<"GaugeRatio100">;
using OrdinalI32 = Newtype<"OrdinalI32">;
using OrdinalU32 = Newtype<"OrdinalU32">;
using OrdinalU64 = Newtype<"OrdinalU64">;
using CategoricalString = Newtype<"CategoricalString">;
using Char = Newtype<"Char">;
using Flag = Newtype<"Flag">;
using CpuSet = Newtype<"CpuSet">;
using LimitBytes = Newtype<"LimitBytes">;
using LimitCount = Newtype<"LimitCount">;
using LimitUs = Newtype<"LimitUs">;
using FloorBytes = Newtype<"FloorBytes">;
using CountMap = Newtype<"CountMap">;
using BytesMap = Newtype<"BytesMap">;
using KibMap = Newtype<"KibMap">;
using MixedMap = Newtype<"MixedMap">;
using IdU32 = Newtype<"IdU32">;
using IdU64 = Newtype<"IdU64">;
using IdText = Newtype<"IdText">;

using SumCount = Rule<"SumCount">;
using SumNs = Rule<"SumNs">;
using SumUs = Rule<"SumUs">;
using SumTicks = Rule<"SumTicks">;
using SumBytes = Rule<"SumBytes">;
using SumGaugeCount = Rule<"SumGaugeCount">;
using MaxPeak = Rule<"MaxPeak">;
using MaxPeakBytes = Rule<"MaxPeakBytes">;
using MaxPeakCount = Rule<"MaxPeakCount">;
using MaxGaugeNs = Rule<"MaxGaugeNs">;
using MaxGaugeCount = Rule<"MaxGaugeCount">;
using MaxGaugeBytes = Rule<"MaxGaugeBytes">;
using MaxRatio = Rule<"MaxRatio">;
using MaxOrdinal = Rule<"MaxOrdinal">;
using LimitMax = Rule<"LimitMax">;
using FloorMin = Rule<"FloorMin">;
using RangeI32 = Rule<"RangeI32">;
using RangeU32 = Rule<"RangeU32">;
using RangeU64 = Rule<"RangeU64">;
using Mode = Rule<"Mode">;
using ModeChar = Rule<"ModeChar">;
using ModeBool = Rule<"ModeBool">;
using AnyFlag = Rule<"AnyFlag">;
using Affinity = Rule<"Affinity">;
using MapSum = Rule<"MapSum">;
using MapMixed = Rule<"MapMixed">;
using Key = Rule<"Key">;
using Dead = Rule<"Dead">;

}  // namespace ctprof::sdk
