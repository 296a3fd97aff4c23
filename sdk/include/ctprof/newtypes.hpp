// Tables of newtypes (the types of readings) and rules (how the readings of a group become one
// value), and of the sections and roles of metrics.
//
// To choose a newtype, decide whether the value only grows, is a peak, or is a current level. To
// choose a rule, decide what is true of ten threads together: their sum, their maximum, or their
// most frequent value. If none of these makes sense, the newtype is wrong.
//
// Examples, each with its newtype and rule:
//
//   bytes that the thread sent               Bytes              SumBytes
//   the longest time that a lock was held    PeakNs             MaxPeak
//   requests in the thread's own queue now   GaugeCount         SumGaugeCount
//   requests in a queue that all share       GaugeCount         MaxGaugeCount: a sum would count
//                                                               each request several times
//   how full a buffer is, from 0 to 1        GaugeF64           MeanGaugeF64
//   a priority                               OrdinalI32         RangeI32
//   the name of a state                      CategoricalString  Mode
//   a limit, which may be "none"             LimitBytes         LimitMax
//   bytes by the name of a pool              BytesMap           MapSum
//   how long each request took               HistogramNs        HistogramMerge
//
// A newtype lists the rules that are legal for it. Any other pair is one of a few mistakes, each
// with its own message. The compiler prints it if a metric is declared in C++ (metric.hpp). The
// core prints the same message for a plugin whose table was made by other means.
//
// Contents:   the tables, the check, the messages. To add a newtype, a rule or a section, add a
//             line.
// See also:   the core for the computation of rules; abi.h (ctprof_rule) for rules of plugins.

#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "ctprof/abi.h"

namespace ctprof {

// One newtype.
struct NewtypeInfo {
  std::string_view name;
  ctprof_storage storage;
  // How it behaves over time: cumulative, peak, gauge, categorical, limit or identity. Only
  // cumulative metrics become rates and have a base in a window.
  std::string_view family;
  // The default unit of its metrics.
  std::string_view unit;
  // The legal rules, separated by commas.
  std::string_view rules;
};

// All newtypes with their storage and their legal rules. The first rule is not a default: a metric
// always names its rule.
inline constexpr std::array kNewtypes{
    // Events since the thread started: faults, switches, calls.
    NewtypeInfo{"MonotonicCount", CTPROF_U64, "cumulative", "count", "SumCount"},
    // A field that the kernel still prints but no longer updates. It is declared so that readers
    // learn why it is missing.
    NewtypeInfo{"DeadCounter", CTPROF_U64, "cumulative", "none", "Dead"},
    // Accumulated time in ns: on a CPU, waiting, blocked.
    NewtypeInfo{"MonotonicNs", CTPROF_U64, "cumulative", "ns", "SumNs"},
    // The same in µs, the unit of cgroup files.
    NewtypeInfo{"MonotonicUs", CTPROF_U64, "cumulative", "us", "SumUs"},
    // All bytes that were transferred or allocated so far. For the current amount use GaugeBytes.
    NewtypeInfo{"Bytes", CTPROF_U64, "cumulative", "bytes", "SumBytes"},
    // Time in ticks of USER_HZ, usually 10 ms each. Stored as ticks, because a conversion to ns
    // would suggest a higher precision.
    NewtypeInfo{"ClockTicks", CTPROF_U64, "cumulative", "ticks", "SumTicks"},
    // The longest single duration: a wait, a slice.
    NewtypeInfo{"PeakNs", CTPROF_U64, "peak", "ns", "MaxPeak"},
    // The largest amount of memory so far.
    NewtypeInfo{"PeakBytes", CTPROF_U64, "peak", "bytes", "MaxPeakBytes"},
    // The largest number so far of things that existed at the same time.
    NewtypeInfo{"PeakCount", CTPROF_U64, "peak", "count", "MaxPeakCount"},
    // A duration that is configured now, such as a time slice.
    NewtypeInfo{"GaugeNs", CTPROF_U64, "gauge", "ns", "MaxGaugeNs"},
    // A current number. Use the sum if each row owns what it counts, and the maximum if several
    // rows count the same things.
    NewtypeInfo{"GaugeCount", CTPROF_U64, "gauge", "count", "MaxGaugeCount,SumGaugeCount"},
    // A current number of bytes. A sum counts shared memory several times, such as a page of two
    // processes.
    NewtypeInfo{"GaugeBytes", CTPROF_U64, "gauge", "bytes", "MaxGaugeBytes,SumGaugeBytes"},
    // A current number with a fraction: a load, a temperature. Specify the unit of the metric if
    // there is one.
    NewtypeInfo{"GaugeF64", CTPROF_F64, "gauge", "none", "MaxGaugeF64,SumGaugeF64,MeanGaugeF64"},
    // A share in hundredths of a percent, as an integer: 1234 is 12.34 %.
    NewtypeInfo{"GaugeRatio100", CTPROF_U64, "gauge", "percent", "MaxRatio"},
    // A signed position on a scale: nice, a CPU number. A group has a range and no sum.
    NewtypeInfo{"OrdinalI32", CTPROF_I64, "categorical", "none", "RangeI32,MaxOrdinal"},
    // The same without a sign, up to 32 bits.
    NewtypeInfo{"OrdinalU32", CTPROF_U64, "categorical", "none", "RangeU32"},
    // The same, up to 64 bits.
    NewtypeInfo{"OrdinalU64", CTPROF_U64, "limit", "none", "MaxOrdinal,RangeU64"},
    // A name out of a small set: a policy, a state of a subsystem.
    NewtypeInfo{"CategoricalString", CTPROF_STRING, "categorical", "none", "Mode"},
    // One letter, such as a state.
    NewtypeInfo{"Char", CTPROF_STRING, "categorical", "none", "ModeChar"},
    // Yes or no.
    NewtypeInfo{"Flag", CTPROF_BOOL, "categorical", "none", "ModeBool,AnyFlag"},
    // A set of CPUs, as bits.
    NewtypeInfo{"CpuSet", CTPROF_BITSET, "categorical", "cpus", "Affinity"},
    // A limit that an administrator set; the largest 64-bit number means "none".
    NewtypeInfo{"LimitBytes", CTPROF_U64, "limit", "bytes", "LimitMax"},
    // The same for a number of things.
    NewtypeInfo{"LimitCount", CTPROF_U64, "limit", "count", "LimitMax"},
    // The same for a time.
    NewtypeInfo{"LimitUs", CTPROF_U64, "limit", "us", "LimitMax"},
    // A guarantee that an administrator set. The smallest value of a group holds for all its rows.
    NewtypeInfo{"FloorBytes", CTPROF_U64, "limit", "bytes", "FloorMin"},
    // Counters by name, of events: memory.events of a cgroup.
    NewtypeInfo{"CountMap", CTPROF_MAP, "cumulative", "count", "MapSum"},
    // Counters by name, of bytes: io.stat by device.
    NewtypeInfo{"BytesMap", CTPROF_MAP, "cumulative", "bytes", "MapSum"},
    // Sizes by name, in KiB: smaps_rollup.
    NewtypeInfo{"KibMap", CTPROF_MAP, "gauge", "kib", "MapSum"},
    // Numbers by name of several kinds: memory.stat. The metric's map_keys state the kind of each
    // key.
    NewtypeInfo{"MixedMap", CTPROF_MAP, "gauge", "none", "MapMixed"},
    // The number of durations by bucket (abi/histogram.h): single waits, requests. A group has
    // percentiles.
    NewtypeInfo{"HistogramNs", CTPROF_ARRAY, "cumulative", "ns", "HistogramMerge"},
    // The same for other numbers: sizes of requests, lengths of queues.
    NewtypeInfo{"HistogramCount", CTPROF_ARRAY, "cumulative", "count", "HistogramMerge"},
    // Weighted call stacks from a recorder; their weight is a time ...
    NewtypeInfo{"StackNs", CTPROF_STACKS, "cumulative", "ns", "StackSum"},
    // ... or a number of events ...
    NewtypeInfo{"StackCount", CTPROF_STACKS, "cumulative", "count", "StackSum"},
    // ... or an amount of memory.
    NewtypeInfo{"StackBytes", CTPROF_STACKS, "cumulative", "bytes", "StackSum"},
    // The result of a formula; only for ctprof_derived, no source offers it.
    NewtypeInfo{"Derived", CTPROF_F64, "gauge", "none", "Formula"},
    // The identity of a row. Identities are never summed or compared.
    NewtypeInfo{"IdU32", CTPROF_U64, "identity", "none", "Key"},
    // The same, up to 64 bits.
    NewtypeInfo{"IdU64", CTPROF_U64, "identity", "none", "Key"},
    // The same, as a text.
    NewtypeInfo{"IdText", CTPROF_STRING, "identity", "text", "Key"},
};

// How a rule reduces many readings to one value; kRules below assigns one to each rule. `None` is
// for values that are never reduced.
enum class Reduction { Sum, Max, Min, Mean, Range, Mode, Affinity, PerKey, None };

// One rule.
struct RuleInfo {
  std::string_view name;
  Reduction reduction;
  // The only unit that the rule accepts; empty: any.
  std::string_view unit;
};

// All built-in rules. The unit prevents nanoseconds from being added to bytes.
inline constexpr std::array kRules{
    // Sums of counters: the events of a group are the events of its rows. They saturate at 2^64-1
    // instead of wrapping around.
    RuleInfo{"SumCount", Reduction::Sum, "count"},
    RuleInfo{"SumNs", Reduction::Sum, "ns"},
    RuleInfo{"SumUs", Reduction::Sum, "us"},
    RuleInfo{"SumTicks", Reduction::Sum, "ticks"},
    RuleInfo{"SumBytes", Reduction::Sum, "bytes"},
    // Sums of current levels. Meaningful only if no two rows count the same things.
    RuleInfo{"SumGaugeCount", Reduction::Sum, "count"},
    RuleInfo{"SumGaugeBytes", Reduction::Sum, "bytes"},
    // Sums of fractions. The order of addition can change the last digit.
    RuleInfo{"SumGaugeF64", Reduction::Sum, "none"},
    // Maxima, for values without a meaningful sum: the longest wait of ten threads is the wait of
    // one of them.
    RuleInfo{"MaxPeak", Reduction::Max, "ns"},
    RuleInfo{"MaxPeakBytes", Reduction::Max, "bytes"},
    RuleInfo{"MaxPeakCount", Reduction::Max, "count"},
    // Maxima of current levels.
    RuleInfo{"MaxGaugeNs", Reduction::Max, "ns"},
    RuleInfo{"MaxGaugeCount", Reduction::Max, "count"},
    RuleInfo{"MaxGaugeBytes", Reduction::Max, "bytes"},
    RuleInfo{"MaxGaugeF64", Reduction::Max, "none"},
    // The mean of all rows that have a value.
    RuleInfo{"MeanGaugeF64", Reduction::Mean, "none"},
    // The largest share, printed in percent.
    RuleInfo{"MaxRatio", Reduction::Max, "percent"},
    // The highest position on a scale.
    RuleInfo{"MaxOrdinal", Reduction::Max, "none"},
    // The least restrictive limit and the weakest guarantee of the group.
    RuleInfo{"LimitMax", Reduction::Max, ""},
    RuleInfo{"FloorMin", Reduction::Min, "bytes"},
    // The smallest and the largest value; the midpoint represents the range as a number.
    RuleInfo{"RangeI32", Reduction::Range, "none"},
    RuleInfo{"RangeU32", Reduction::Range, "none"},
    RuleInfo{"RangeU64", Reduction::Range, "none"},
    // The most frequent value, and the number of rows that have it.
    RuleInfo{"Mode", Reduction::Mode, ""},
    RuleInfo{"ModeChar", Reduction::Mode, ""},
    RuleInfo{"ModeBool", Reduction::Mode, ""},
    // True if any is true.
    RuleInfo{"AnyFlag", Reduction::Mode, ""},
    // The number of CPUs of each row, and the set of CPUs if all rows have the same.
    RuleInfo{"Affinity", Reduction::Affinity, "cpus"},
    // Reduces each key separately; a key that only some rows have is reduced over those rows.
    RuleInfo{"MapSum", Reduction::PerKey, ""},
    RuleInfo{"MapMixed", Reduction::PerKey, ""},
    // Sums each bucket separately, and derives the count, percentiles and the maximum.
    RuleInfo{"HistogramMerge", Reduction::PerKey, ""},
    // Sums each stack separately; the total weight represents the value as a number.
    RuleInfo{"StackSum", Reduction::Sum, ""},
    // No reduction: a formula is computed from the values of its inputs, a key identifies rows, a
    // dead counter never changes.
    RuleInfo{"Formula", Reduction::None, ""},
    RuleInfo{"Key", Reduction::None, ""},
    RuleInfo{"Dead", Reduction::None, ""},
};

// Finds `name` in one of the two tables; null if it is missing. It also works at compile time, so a
// misspelt newtype stops the compilation.
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

// Whether `word` is in `list`, whose words are separated by commas without blanks.
constexpr bool is_listed(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    list = comma == list.npos ? std::string_view{} : list.substr(comma + 1);
  }
  return false;
}

// The result of checking a newtype with a rule: legal, or a kind of mistake. The mistakes are
// distinguished because each needs a different correction:
//
//   PeakSummed        use a maximum
//   UnitsDiffer       use the rule for the newtype's unit
//   DeadReduced       use Dead, or do not declare the metric
//   CategoryCounted   use the most frequent value
//   WithoutMeaning    use one of the rules that the newtype lists
enum class Pairing { Fits, PeakSummed, UnitsDiffer, DeadReduced, CategoryCounted, WithoutMeaning };

// Checks a pair. A pair that the newtype's line lists is always legal.
constexpr Pairing pairing(const NewtypeInfo& newtype, const RuleInfo& rule) {
  const bool counts = rule.reduction == Reduction::Sum || rule.reduction == Reduction::Max ||
                      rule.reduction == Reduction::Min || rule.reduction == Reduction::Mean;
  const bool category = newtype.storage == CTPROF_STRING || newtype.storage == CTPROF_BOOL ||
                        newtype.storage == CTPROF_BITSET;
  if (is_listed(newtype.rules, rule.name)) return Pairing::Fits;
  if (newtype.name == "DeadCounter") return Pairing::DeadReduced;
  if (newtype.family == "peak" && rule.reduction == Reduction::Sum) return Pairing::PeakSummed;
  if (category && (counts || rule.reduction == Reduction::Range)) return Pairing::CategoryCounted;
  if (!rule.unit.empty() && newtype.unit != rule.unit) return Pairing::UnitsDiffer;
  return Pairing::WithoutMeaning;
}

// One message per mistake. They are macros because static_assert takes only a literal.
#define CTPROF_SAYS_PEAK_SUMMED \
  "a peak does not add up: the longest times of several threads occurred at different moments"
#define CTPROF_SAYS_UNITS_DIFFER                                                                  \
  "newtype and rule are about different units: readings in one unit cannot be reduced by a rule " \
  "for another"
#define CTPROF_SAYS_DEAD_REDUCED \
  "a dead counter never changes: its only rule is Dead, which gives no value"
#define CTPROF_SAYS_CATEGORY_COUNTED \
  "a category is a name, not a quantity: it has no sum, largest, smallest or range"
#define CTPROF_SAYS_WITHOUT_MEANING                                                                \
  "this newtype has no meaning under this rule: take one of the rules that its line in kNewtypes " \
  "names"

// Returns the message for a mistake; empty for a legal pair. A plugin whose table was made without
// these headers is refused with the same message when it is loaded.
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

// The section of a metric in reports, and its role in the accounting of a window.
//
//   inline constexpr sdk::Metric<sdk::MonotonicNs, sdk::SumNs> kRunTime{{
//       .name = "run_time_ns", .section = "example", .description = "...", .role = "run-time"}};
//
// A section is a part of the output of show and compare. Each metric names its section. Sections
// that are not in the table below follow those that are. `--sections example` shows only that
// section.
//
// The core knows no metric by name. To compute how much of the host's busy time the threads
// explain, it finds metrics by their roles. Unless the table states otherwise, only one metric of
// each entity may have a role. Only plugins that ship with ctprof may assign roles.

// A section. A third party needs no line here: its metrics can name a new section, whose name
// becomes the heading.
struct SectionInfo {
  std::string_view name;
  // Its metrics belong to cgroups, and have groups only under --group-by cgroup.
  bool needs_cgroups;
};

// The sections in the order of a report: activity of threads, waiting, derived metrics, the
// environment of threads, and sections that exist only on some hosts. To add a section, add a line
// here.
inline constexpr SectionInfo kSections[] = {
    {"primary", false},      {"taskstats-delay", false}, {"derived", false},
    {"cgroup-stats", true},  {"cgroup-limits", true},    {"memory-stat", true},
    {"memory-events", true}, {"pressure", true},         {"host-pressure", false},
    {"smaps-rollup", false}, {"sched-ext", false},       {"host-cpu", false},
    {"host-disk", false},    {"host-memory", false},     {"off-cpu", false},
    {"stacks", false},
};

// The roles. Accounting relies on the meaning of a role, so each role requires a unit and an
// entity. If no metric has a role, the results that depend on it are omitted, not estimated.
//
//   busy time of the host = CPUs * wall time - idle - iowait, less the interrupt and steal time
//                           that the run-time of threads excludes
//   explained by threads  = the sum of their run-time
//   blocked-time          = wall time - run-time - wait-time
inline constexpr std::array<std::string_view, 39> kRoles{
    "run-time",               // a thread's time on a CPU, ns
    "wait-time",              // a thread's time waiting for a CPU, ns
    "run-time-in-progress",   // the part of the current time slice that run-time does not include
                              // yet, ns
    "wait-time-in-progress",  // the part of the current wait that wait-time does not include yet,
                              // ns
    "user-time",              // a thread's time in user mode, and ...
    "system-time",            // ... in the kernel, in the same unit; only their sum is monotonic
    "state",                  // a thread's state as in /proc/PID/stat; R: runs or waits for a CPU
    "blocked-time",           // a thread's time neither running nor waiting for a CPU, ns
    "resident",               // a process's resident memory, bytes
    "host-user",              // the host's CPU time by state, ns: in user mode, ...
    "host-system",            // ... in the kernel,
    "host-idle",              // ... idle,
    "host-iowait",            // ... idle while a task waits for I/O,
    "host-irq",               // ... in interrupts,
    "host-softirq",           // ... in softirqs,
    "host-steal",             // ... steal time
    "host-wall",              // CLOCK_MONOTONIC when the CPU times of the host were read, ns
    "host-cpus",              // the number of online CPUs of the host
    "host-irq-apart",         // whether the run-time of threads excludes interrupts
    "host-steal-apart",       // whether the run-time of threads excludes steal time
    "waiting-stacks",  // stacks at which a thread was not running; several metrics may have this
                       // role
    "running-stacks",  // samples of a thread's time on a CPU by stack, ns; several metrics may have
                       // this role
    "disk-read",       // bytes that the host's disks read ...
    "disk-write",      // ... and wrote
    "disk-busy",       // the time during which disks had requests, summed over all disks, ns
    "memory-available",    // memory that the host can allocate without swapping, bytes
    "load",                // the host's load average over one minute
    "cpu-pressure",        // the time during which any thread of the host waited for a CPU, us, ...
    "io-pressure",         // ... for a disk, ...
    "memory-pressure",     // ... for memory
    "throttled-time",      // the time during which a cgroup was throttled by its quota, us or ns
    "cpu-quota",           // the CPU time that a cgroup may use per period, us ...
    "cpu-period",          // ... and the length of the period, us
    "cpu-cgroup",          // the path of a process's cgroup in a v1 hierarchy that has the
                           // throttled-time of cgroups, which are the rows of a plugin's entity
    "voluntary-switches",  // the number of voluntary switches of a thread
    "involuntary-switches",  // the number of its switches while it could run
    "major-faults",          // a thread's page faults that read from a disk or swap ...
    "minor-faults",          // ... and that did not
    "memory-events",         // a map of a cgroup's memory events by name, as in memory.events
};

// Whether `word` is a role.
constexpr bool is_role(std::string_view word) {
  return std::find(kRoles.begin(), kRoles.end(), word) != kRoles.end();
}

}  // namespace ctprof
