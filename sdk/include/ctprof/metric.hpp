// Metrics whose declarations have the newtype and the rule as types.
//
//   inline constexpr sdk::Metric<sdk::PeakNs, sdk::MaxPeak> kWaitMax{{
//       .name = "example_wait_max",
//       .source = "/proc/<tgid>/task/<tid>/sched:wait_max",
//       .description = "Longest single wait for a CPU."}};
//
// A meaningless pair does not compile, and the compiler prints the reason (newtypes.hpp):
// `Metric<PeakNs, SumNs>` fails with "a peak does not add up ...".
//
// Further examples. A fraction that describes the whole host:
//
//   inline constexpr sdk::Metric<sdk::GaugeF64, sdk::MaxGaugeF64, sdk::Entity::Host> kLoad{{
//       .name = "example_load", .description = "Load average of the last minute."}};
//
// A map of a cgroup that contains counters and gauges:
//
//   inline constexpr sdk::Metric<sdk::MixedMap, sdk::MapMixed, sdk::Entity::Cgroup> kNuma{{
//       .name = "example_numa",
//       .description = "Pages by NUMA node.",
//       .map_keys = "gauge count: anon file; counter count: *"}};
//
// How long the requests of a process took, by bucket; a report shows percentiles:
//
//   inline constexpr sdk::Metric<sdk::HistogramNs, sdk::HistogramMerge, sdk::Entity::Process>
//       kRequests{{.name = "example_request_ns", .description = "Duration of single requests."}};
//
// Numbers by two labels, which readers get as labels of their own (labels.hpp):
//
//   inline constexpr sdk::Metric<sdk::BytesMap, sdk::MapSum, sdk::Entity::Host> kMoved{{
//       .name = "example_moved_bytes",
//       .description = "Bytes that each device moved.",
//       .labels = sdk::labels<"device", "direction">}};
//
// A setting of an administrator; a comparison reports its change:
//
//   inline constexpr sdk::Metric<sdk::OrdinalI32, sdk::RangeI32> kOomScore{{
//       .name = "example_oom_score_adj",
//       .description = "How much more readily the kernel kills it when memory runs out.",
//       .flags = CTPROF_METRIC_SETTING}};
//
// A value of the process, which its threads share:
//
//   inline constexpr sdk::Metric<sdk::GaugeBytes, sdk::SumGaugeBytes, sdk::Entity::Process> kHuge{{
//       .name = "example_huge_bytes", .description = "Memory in huge pages."}};
//
// A column that one of your sources passes to another (reads.hpp), and that reports do not show:
//
//   inline constexpr sdk::Metric<sdk::IdU64, sdk::Key> kStackStart{{
//       .name = "example_stack_start",
//       .description = "Where the thread's stack begins.",
//       .flags = CTPROF_METRIC_HIDDEN}};
//
// Before you choose a name, list the existing ones with `ctprof metric-list`. Your name begins with
// the name of your plugin, so it cannot collide with them. Use a noun for a current level and a
// past participle for events, followed by the unit if there is one: example_queue_length,
// example_sent_bytes, example_blocked_ns.
//
// Contents:   Metric, and a type for each newtype and built-in rule.
// See also:   batch.hpp for filling cells, source.hpp for offering metrics.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ctprof/abi.h"
#include "ctprof/newtypes.hpp"

namespace ctprof::sdk {

// The kind of object that a row describes. The default is a thread; other kinds are specified as a
// third template argument: `Metric<GaugeBytes, MaxGaugeBytes, Entity::Process>`.
enum class Entity : ctprof_entity {
  Thread = CTPROF_THREAD,
  Process = CTPROF_PROCESS,
  Cgroup = CTPROF_CGROUP,
  Host = CTPROF_HOST,
  // The entity of the source that offers the metric; see EntityListSource (source.hpp).
  OfSource = CTPROF_ENTITY_OF_SOURCE,
};

// A string literal as a template argument, as in `sdk::KeyLine<kThreads, "Threads">`.
template <std::size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&literal)[N]) {
    std::copy_n(literal, N, text);
  }  // NOLINT: implicit on purpose
  constexpr std::string_view view() const { return {text, N - 1}; }
};

// The type of a reading, with one alias below for each line of kNewtypes. Use the aliases, such as
// `sdk::MonotonicNs`.
template <Name N>
struct Newtype {
  static constexpr const NewtypeInfo* kInfo = find_newtype(N.view());
  static_assert(kInfo != nullptr, "kNewtypes has no newtype of this name");
  static constexpr Name kName = N;
};

// How the readings of a group become one value, with one alias below for each line of kRules.
// Metric takes a newtype and a rule, and checks that they fit.
template <Name N>
struct Rule {
  static constexpr const RuleInfo* kInfo = find_rule(N.view());
  static_assert(kInfo != nullptr,
                "kRules has no rule of this name; a rule of your own is a PluginRule");
  static constexpr Name kName = N;
  static constexpr Pairing with(const NewtypeInfo& newtype) { return pairing(newtype, *kInfo); }
};

// A rule that the plugin provides: its name, and the newtypes that its ctprof_rule lists, separated
// by commas.
//
//   using Mean = sdk::PluginRule<"example_mean", "GaugeCount,GaugeNs">;
//   inline constexpr sdk::Metric<sdk::GaugeNs, Mean> kSlice{{.name = "example_slice_ns"}};
//
// The rule itself is a ctprof_rule in Extra::rules (plugin.hpp); abi/rule.h contains an example. If
// no rule has that name, the plugin is refused when it is loaded.
template <Name N, Name Newtypes>
struct PluginRule {
  static constexpr Name kName = N;
  static constexpr Pairing with(const NewtypeInfo& newtype) {
    return is_listed(Newtypes.view(), newtype.name) ? Pairing::Fits : Pairing::WithoutMeaning;
  }
};

// The properties of a metric. All except the name and the description have a default. The fields
// correspond to those of ctprof_metric in abi.h, which explains them.
struct About {
  // Lower case, permanent, beginning with the name of your plugin: "example_wait_max".
  const char* name;
  // The unit, if it differs from that of the newtype: "celsius".
  const char* unit = nullptr;
  // The family, if it differs from that of the newtype: "gauge" for a count that can fall.
  const char* family = nullptr;
  // Its section in reports; a name that is not in newtypes.hpp creates a new section.
  const char* section = nullptr;
  // "cfs-only", "non-ext" or "fair-policy": shown as a tag.
  const char* sched_class = nullptr;
  // "CONFIG_SCHEDSTATS": shown by `help`, and by `doctor` where the metric is missing.
  const char* config_gates = nullptr;
  // "leader" for a value of the process that only the row of its leader contains.
  const char* applies_to = nullptr;
  // The first kernel version that provides it: "6.12".
  const char* since = nullptr;
  // The interface that the source reads: "/proc/<tgid>/task/<tid>/sched:wait_max".
  const char* source = nullptr;
  // Its meaning in one sentence. Always specify it.
  const char* description = nullptr;
  // The kernel function that updates it: "update_curr()".
  const char* kernel_writer = nullptr;
  // Its limits and possible misreadings.
  const char* caveat = nullptr;
  // For files of the reference (ktstr), and only for plugins that ship with ctprof: its path, its
  // names in older files, its format, and the JSON that means "no value".
  const char* file_path = nullptr;
  const char* file_aliases = nullptr;
  const char* file_unit = nullptr;
  const char* file_absent = nullptr;
  // The mark that states that this metric was measured, if its zero would not show that.
  const char* mark = nullptr;
  // The kinds of a map's keys: "gauge bytes: anon file; counter count: *".
  const char* map_keys = nullptr;
  // The labels of a map's keys: sdk::labels<"device", "direction"> (labels.hpp).
  const char* labels = nullptr;
  // CTPROF_METRIC_SETTING for values that an administrator sets, _COSTLY for values that are
  // expensive to read, _OF_WINDOW for peaks of a recorder.
  ctprof_metric_flags flags = 0;
  // A column of the first screen; at most three per plugin.
  const ctprof_headline* headline = nullptr;
  // Only for plugins that ship with ctprof.
  const char* role = nullptr;
};

// One metric. Declare it as a constant at namespace scope, because the plugin's table contains its
// address, and fields and tables take it as a template argument:
//
//   inline constexpr sdk::Metric<sdk::GaugeBytes, sdk::MaxGaugeBytes> kHeld{{
//       .name = "example_held_bytes",
//       .description = "Memory of the thread in the example's cache."}};
//
// The object is plain data. It may be declared in a header that several sources include. Two
// metrics with the same name are allowed if their definitions agree.
template <class N, class R, Entity E = Entity::Thread>
struct Metric {
  static constexpr Pairing kPairing = R::with(*N::kInfo);
  static_assert(kPairing != Pairing::PeakSummed, CTPROF_SAYS_PEAK_SUMMED);
  static_assert(kPairing != Pairing::UnitsDiffer, CTPROF_SAYS_UNITS_DIFFER);
  static_assert(kPairing != Pairing::DeadReduced, CTPROF_SAYS_DEAD_REDUCED);
  static_assert(kPairing != Pairing::CategoryCounted, CTPROF_SAYS_CATEGORY_COUNTED);
  static_assert(kPairing != Pairing::WithoutMeaning, CTPROF_SAYS_WITHOUT_MEANING);

  // The type of a cell's value and its storage, from which columns and figures derive their types.
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
            .role = about.role,
            .labels = about.labels} {}

  // The metric in the form of the ABI. It refers to the strings of `about`, which must be literals
  // or live as long as the plugin.
  ctprof_metric abi;
};

// The newtypes by kind of reading. newtypes.hpp describes each in its line of the table.
//
// Values that only grow since the thread, process, cgroup or host started. A window shows the
// difference of two readings; zero is a value.
using MonotonicCount = Newtype<"MonotonicCount">;
using DeadCounter = Newtype<"DeadCounter">;
using MonotonicNs = Newtype<"MonotonicNs">;
using MonotonicUs = Newtype<"MonotonicUs">;
using Bytes = Newtype<"Bytes">;
using ClockTicks = Newtype<"ClockTicks">;
// Peaks. They are never summed, because the peaks of two threads occurred at different times.
using PeakNs = Newtype<"PeakNs">;
using PeakBytes = Newtype<"PeakBytes">;
using PeakCount = Newtype<"PeakCount">;
// Current levels.
using GaugeNs = Newtype<"GaugeNs">;
using GaugeCount = Newtype<"GaugeCount">;
using GaugeBytes = Newtype<"GaugeBytes">;
using GaugeF64 = Newtype<"GaugeF64">;
using GaugeRatio100 = Newtype<"GaugeRatio100">;
// Positions on a scale. Their order has a meaning, their difference has none.
using OrdinalI32 = Newtype<"OrdinalI32">;
using OrdinalU32 = Newtype<"OrdinalU32">;
using OrdinalU64 = Newtype<"OrdinalU64">;
// Categories. They are counted, not added.
using CategoricalString = Newtype<"CategoricalString">;
using Char = Newtype<"Char">;
using Flag = Newtype<"Flag">;
using CpuSet = Newtype<"CpuSet">;
// Settings of an administrator. The largest 64-bit number means "no limit".
using LimitBytes = Newtype<"LimitBytes">;
using LimitCount = Newtype<"LimitCount">;
using LimitUs = Newtype<"LimitUs">;
using FloorBytes = Newtype<"FloorBytes">;
// Numbers by name, for names that are known only at run time. For known names, declare one metric
// each: reports can sort by it, and it has a description.
using CountMap = Newtype<"CountMap">;
using BytesMap = Newtype<"BytesMap">;
using KibMap = Newtype<"KibMap">;
using MixedMap = Newtype<"MixedMap">;
// The number of values by bucket (abi/histogram.h). A cell is an array of up to
// CTPROF_HISTOGRAM_BUCKETS numbers, as in `waits.put(row, sdk::Words(buckets))`.
using HistogramNs = Newtype<"HistogramNs">;
using HistogramCount = Newtype<"HistogramCount">;
// Weighted call stacks, only from recorders (records.hpp).
using StackNs = Newtype<"StackNs">;
using StackCount = Newtype<"StackCount">;
using StackBytes = Newtype<"StackBytes">;
// The identity of a row.
using IdU32 = Newtype<"IdU32">;
using IdU64 = Newtype<"IdU64">;
using IdText = Newtype<"IdText">;

// The rules, by kind; newtypes.hpp describes how each reduces a group.
//
// Sums.
using SumCount = Rule<"SumCount">;
using SumNs = Rule<"SumNs">;
using SumUs = Rule<"SumUs">;
using SumTicks = Rule<"SumTicks">;
using SumBytes = Rule<"SumBytes">;
using SumGaugeCount = Rule<"SumGaugeCount">;
using SumGaugeBytes = Rule<"SumGaugeBytes">;
using SumGaugeF64 = Rule<"SumGaugeF64">;
// The maximum, or the mean.
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
// The least restrictive limit, and the weakest guarantee.
using LimitMax = Rule<"LimitMax">;
using FloorMin = Rule<"FloorMin">;
// The smallest and the largest value.
using RangeI32 = Rule<"RangeI32">;
using RangeU32 = Rule<"RangeU32">;
using RangeU64 = Rule<"RangeU64">;
// The most frequent value.
using Mode = Rule<"Mode">;
using ModeChar = Rule<"ModeChar">;
using ModeBool = Rule<"ModeBool">;
using AnyFlag = Rule<"AnyFlag">;
// Sets and maps.
using Affinity = Rule<"Affinity">;
using MapSum = Rule<"MapSum">;
using MapMixed = Rule<"MapMixed">;
// Histograms, bucket by bucket.
using HistogramMerge = Rule<"HistogramMerge">;
// Call stacks.
using StackSum = Rule<"StackSum">;
// No reduction.
using Key = Rule<"Key">;
using Dead = Rule<"Dead">;

}  // namespace ctprof::sdk
