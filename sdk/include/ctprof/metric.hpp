// Metrics, declared with newtype and rule as types.
//
//   inline constexpr sdk::Metric<sdk::PeakNs, sdk::MaxPeak> kWaitMax{{
//       .name = "example_wait_max",
//       .source = "/proc/<tgid>/task/<tid>/sched:wait_max",
//       .description = "Longest single wait for a CPU."}};
//
// A pair without meaning does not compile, and the compiler prints why in a sentence
// (newtypes.hpp): `Metric<PeakNs, SumNs>` stops with "a peak does not add up ...".
//
// Some more, by kind. A fraction of the whole host:
//
//   inline constexpr sdk::Metric<sdk::GaugeF64, sdk::MaxGaugeF64, sdk::Entity::Host> kLoad{{
//       .name = "example_load", .description = "Load average of the last minute."}};
//
// A map of a cgroup, some of whose keys are counters and some not:
//
//   inline constexpr sdk::Metric<sdk::MixedMap, sdk::MapMixed, sdk::Entity::Cgroup> kNuma{{
//       .name = "example_numa",
//       .description = "Pages by NUMA node.",
//       .map_keys = "gauge count: anon file; counter count: *"}};
//
// A setting that an administrator chose; a comparison says that it changed:
//
//   inline constexpr sdk::Metric<sdk::OrdinalI32, sdk::RangeI32> kOomScore{{
//       .name = "example_oom_score_adj",
//       .description = "How much more readily the kernel kills it when memory runs out.",
//       .flags = CTPROF_METRIC_SETTING}};
//
// A figure of the process, which its threads share:
//
//   inline constexpr sdk::Metric<sdk::GaugeBytes, sdk::SumGaugeBytes, sdk::Entity::Process> kHuge{{
//       .name = "example_huge_bytes", .description = "Memory in huge pages."}};
//
// A column that one of your sources passes to another (reads.hpp), and that no report shows:
//
//   inline constexpr sdk::Metric<sdk::IdU64, sdk::Key> kStackStart{{
//       .name = "example_stack_start",
//       .description = "Where the thread's stack begins.",
//       .flags = CTPROF_METRIC_HIDDEN}};
//
// Before you choose a name: `ctprof metric-list` prints those that are taken. Yours begins with the
// name of your plugin, so it cannot collide with them. Pick a noun for what is there and a past
// participle for what happened, with the unit behind it where it has one: example_queue_length,
// example_sent_bytes, example_blocked_ns.
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

// What a row is about. A thread is the default; the others are named as a third template argument:
// `Metric<GaugeBytes, MaxGaugeBytes, Entity::Process>`.
enum class Entity : ctprof_entity {
  Thread = CTPROF_THREAD,
  Process = CTPROF_PROCESS,
  Cgroup = CTPROF_CGROUP,
  Host = CTPROF_HOST,
};

// A name as a template argument: `sdk::KeyLine<kThreads, "Threads">` is given one by its literal.
template <std::size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&literal)[N]) {
    std::copy_n(literal, N, text);
  }  // NOLINT: implicit on purpose
  constexpr std::string_view view() const { return {text, N - 1}; }
};

// What a reading is; one alias below for each line of kNewtypes. You write `sdk::MonotonicNs`, and
// hardly ever this.
template <Name N>
struct Newtype {
  static constexpr const NewtypeInfo* kInfo = find_newtype(N.view());
  static_assert(kInfo != nullptr, "kNewtypes has no newtype of this name");
  static constexpr Name kName = N;
};

// How a group's readings become one; one alias below for each line of kRules. The alias and a
// newtype go into Metric together, which checks that they have a meaning.
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
//
//   using Mean = sdk::PluginRule<"example_mean", "GaugeCount,GaugeNs">;
//   inline constexpr sdk::Metric<sdk::GaugeNs, Mean> kSlice{{.name = "example_slice_ns"}};
//
// The rule itself is a ctprof_rule in Extra::rules (plugin.hpp); abi/rule.h has one written out. If
// none of that name is there, the plugin is refused when it is loaded.
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
  // Lower case, stable for ever, with your plugin's name in front: "example_wait_max".
  const char* name;
  // Where it is not the newtype's: "celsius".
  const char* unit = nullptr;
  // Where it does not behave as its newtype does: "gauge" for a count that can fall.
  const char* family = nullptr;
  // The section of a report that it belongs to; a name that is not in newtypes.hpp opens a new one.
  const char* section = nullptr;
  // "cfs-only", "non-ext" or "fair-policy": shown as a tag.
  const char* sched_class = nullptr;
  // "CONFIG_SCHEDSTATS": shown by `help`, and by `doctor` where the metric is missing.
  const char* config_gates = nullptr;
  // "leader" for a figure of the process that fills only its leader's row.
  const char* applies_to = nullptr;
  // The first kernel that has it: "6.12".
  const char* since = nullptr;
  // Where you read it: "/proc/<tgid>/task/<tid>/sched:wait_max".
  const char* source = nullptr;
  // One sentence that says what it is. Always give it.
  const char* description = nullptr;
  // The kernel function that counts it: "update_curr()".
  const char* kernel_writer = nullptr;
  // What it is not, and what misleads: what a reader would get wrong without it.
  const char* caveat = nullptr;
  // For files of the reference, and for ctprof's own plugins alone: where it is, how older files
  // spell it, how it is written there, and what means "no value".
  const char* file_path = nullptr;
  const char* file_aliases = nullptr;
  const char* file_unit = nullptr;
  const char* file_absent = nullptr;
  // The mark that says that this one was measured, where zero would not.
  const char* mark = nullptr;
  // What a map's keys are: "gauge bytes: anon file; counter count: *".
  const char* map_keys = nullptr;
  // CTPROF_METRIC_SETTING for what an administrator chooses, _COSTLY for what is costly to read,
  // _OF_WINDOW for a recorder's peaks.
  ctprof_metric_flags flags = 0;
  // A column of the first screen; a plugin may have three at most.
  const ctprof_headline* headline = nullptr;
  // ctprof's own plugins alone.
  const char* role = nullptr;
};

// One metric. Make it a constant of a namespace, for its address is part of the plugin's table, and
// because fields and tables take it as a template argument:
//
//   inline constexpr sdk::Metric<sdk::GaugeBytes, sdk::MaxGaugeBytes> kHeld{{
//       .name = "example_held_bytes",
//       .description = "What the thread holds in the example's cache."}};
//
// The object is plain data. It may be declared in a header that several sources include, and two
// metrics of one name are fine as long as they say the same.
template <class N, class R, Entity E = Entity::Thread>
struct Metric {
  static constexpr Pairing kPairing = R::with(*N::kInfo);
  static_assert(kPairing != Pairing::PeakSummed, CTPROF_SAYS_PEAK_SUMMED);
  static_assert(kPairing != Pairing::UnitsDiffer, CTPROF_SAYS_UNITS_DIFFER);
  static_assert(kPairing != Pairing::DeadReduced, CTPROF_SAYS_DEAD_REDUCED);
  static_assert(kPairing != Pairing::CategoryCounted, CTPROF_SAYS_CATEGORY_COUNTED);
  static_assert(kPairing != Pairing::WithoutMeaning, CTPROF_SAYS_WITHOUT_MEANING);

  // What a cell is, and how it is stored; columns and figures take their types from these.
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

  // What crosses the boundary. Its strings are those that were given; they must be literals, or
  // live as long.
  ctprof_metric abi;
};

// The newtypes, by what a reading is. newtypes.hpp says what each is for, beside its line of the
// table.
//
// What only grows, since the thread, process, cgroup or host began. A window shows the difference
// of two readings; zero is a value.
using MonotonicCount = Newtype<"MonotonicCount">;
using DeadCounter = Newtype<"DeadCounter">;
using MonotonicNs = Newtype<"MonotonicNs">;
using MonotonicUs = Newtype<"MonotonicUs">;
using Bytes = Newtype<"Bytes">;
using ClockTicks = Newtype<"ClockTicks">;
// High-water marks. Never summed: the peaks of two threads were at different times.
using PeakNs = Newtype<"PeakNs">;
using PeakBytes = Newtype<"PeakBytes">;
using PeakCount = Newtype<"PeakCount">;
// What there is now.
using GaugeNs = Newtype<"GaugeNs">;
using GaugeCount = Newtype<"GaugeCount">;
using GaugeBytes = Newtype<"GaugeBytes">;
using GaugeF64 = Newtype<"GaugeF64">;
using GaugeRatio100 = Newtype<"GaugeRatio100">;
// Places on a scale. The difference of two has no meaning, their order has.
using OrdinalI32 = Newtype<"OrdinalI32">;
using OrdinalU32 = Newtype<"OrdinalU32">;
using OrdinalU64 = Newtype<"OrdinalU64">;
// Words. They are counted, not added up.
using CategoricalString = Newtype<"CategoricalString">;
using Char = Newtype<"Char">;
using Flag = Newtype<"Flag">;
using CpuSet = Newtype<"CpuSet">;
// What an administrator set. The largest number of 64 bits means "no limit".
using LimitBytes = Newtype<"LimitBytes">;
using LimitCount = Newtype<"LimitCount">;
using LimitUs = Newtype<"LimitUs">;
using FloorBytes = Newtype<"FloorBytes">;
// Numbers by name, where the names are known only at run time. Where they are known, a metric for
// each is better: it can be sorted by, and has a description.
using CountMap = Newtype<"CountMap">;
using BytesMap = Newtype<"BytesMap">;
using KibMap = Newtype<"KibMap">;
using MixedMap = Newtype<"MixedMap">;
// Weighted call stacks, of recorders alone (records.hpp).
using StackNs = Newtype<"StackNs">;
using StackCount = Newtype<"StackCount">;
using StackBytes = Newtype<"StackBytes">;
// Who or what a row is.
using IdU32 = Newtype<"IdU32">;
using IdU64 = Newtype<"IdU64">;
using IdText = Newtype<"IdText">;

// The rules, by kind; newtypes.hpp says what each makes of a group.
//
// Added up.
using SumCount = Rule<"SumCount">;
using SumNs = Rule<"SumNs">;
using SumUs = Rule<"SumUs">;
using SumTicks = Rule<"SumTicks">;
using SumBytes = Rule<"SumBytes">;
using SumGaugeCount = Rule<"SumGaugeCount">;
using SumGaugeBytes = Rule<"SumGaugeBytes">;
using SumGaugeF64 = Rule<"SumGaugeF64">;
// The largest.
using MaxPeak = Rule<"MaxPeak">;
using MaxPeakBytes = Rule<"MaxPeakBytes">;
using MaxPeakCount = Rule<"MaxPeakCount">;
using MaxGaugeNs = Rule<"MaxGaugeNs">;
using MaxGaugeCount = Rule<"MaxGaugeCount">;
using MaxGaugeBytes = Rule<"MaxGaugeBytes">;
using MaxGaugeF64 = Rule<"MaxGaugeF64">;
using MeanGaugeF64 = Rule<"MeanGaugeF64">;
using MaxRatio = Rule<"MaxRatio">;
using MaxOrdinal = Rule<"MaxOrdinal">;
// The loosest limit, the weakest guarantee.
using LimitMax = Rule<"LimitMax">;
using FloorMin = Rule<"FloorMin">;
// From the smallest to the largest.
using RangeI32 = Rule<"RangeI32">;
using RangeU32 = Rule<"RangeU32">;
using RangeU64 = Rule<"RangeU64">;
// What most are.
using Mode = Rule<"Mode">;
using ModeChar = Rule<"ModeChar">;
using ModeBool = Rule<"ModeBool">;
using AnyFlag = Rule<"AnyFlag">;
// Sets and maps.
using Affinity = Rule<"Affinity">;
using MapSum = Rule<"MapSum">;
using MapMixed = Rule<"MapMixed">;
// Call stacks.
using StackSum = Rule<"StackSum">;
// Nothing.
using Key = Rule<"Key">;
using Dead = Rule<"Dead">;

}  // namespace ctprof::sdk
