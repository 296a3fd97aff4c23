// The tables of meaning: newtypes (what a reading is) and rules (how a group's readings become
// one); and the sections and roles that a metric can have.
//
// Choose by asking two questions. Does the figure only grow, is it a high-water mark, or is it what
// there is now? That is its newtype. And what would be true of ten threads together: the sum, the
// largest, what most of them are? That is its rule. Where nothing would be true, the newtype is
// the wrong one.
//
// Some figures, each with its newtype and rule:
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
//
// A newtype names the rules that are legal for it; any other pairing is one of a few mistakes, each
// with a sentence. The compiler prints it where a metric is declared in C++ (metric.hpp), and the
// core says the same of a plugin whose table was made by other means.
//
// What is here:   the tables, the check, the sentences. To add a newtype, a rule or a section, add
//                 a line.
// What is not:    how a rule computes (core), and rules that plugins bring (abi.h, ctprof_rule).

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
  // How it behaves in time: cumulative, peak, gauge, categorical, limit or identity. Only what is
  // cumulative becomes a rate, and has a base in a window.
  std::string_view family;
  // Unless the metric names another.
  std::string_view unit;
  // The legal ones, with commas between.
  std::string_view rules;
};

// Every newtype, with its storage and the rules that have a meaning for it. The first rule named is
// no default: a metric always names one.
inline constexpr std::array kNewtypes{
    // Events since the thread was born: faults, switches, calls.
    NewtypeInfo{"MonotonicCount", CTPROF_U64, "cumulative", "count", "SumCount"},
    // A field that the kernel still prints and no longer counts. Declare it, so that readers
    // see where it went.
    NewtypeInfo{"DeadCounter", CTPROF_U64, "cumulative", "none", "Dead"},
    // Time that adds up, in ns: on a CPU, waiting, blocked.
    NewtypeInfo{"MonotonicNs", CTPROF_U64, "cumulative", "ns", "SumNs"},
    // The same in µs, as cgroups have it.
    NewtypeInfo{"MonotonicUs", CTPROF_U64, "cumulative", "us", "SumUs"},
    // Bytes that were moved or obtained, ever. For what there is now take GaugeBytes.
    NewtypeInfo{"Bytes", CTPROF_U64, "cumulative", "bytes", "SumBytes"},
    // Time in ticks of USER_HZ, 10 ms mostly. Kept as ticks, because turning it into ns would
    // pretend to more digits than there are.
    NewtypeInfo{"ClockTicks", CTPROF_U64, "cumulative", "ticks", "SumTicks"},
    // The longest single moment: a wait, a slice.
    NewtypeInfo{"PeakNs", CTPROF_U64, "peak", "ns", "MaxPeak"},
    // The most memory there ever was.
    NewtypeInfo{"PeakBytes", CTPROF_U64, "peak", "bytes", "MaxPeakBytes"},
    // The most of something there ever was at once.
    NewtypeInfo{"PeakCount", CTPROF_U64, "peak", "count", "MaxPeakCount"},
    // A duration that is set now, such as a time slice.
    NewtypeInfo{"GaugeNs", CTPROF_U64, "gauge", "ns", "MaxGaugeNs"},
    // How many there are now. Take the sum where rows own what they count, and the largest where
    // several rows count the same things.
    NewtypeInfo{"GaugeCount", CTPROF_U64, "gauge", "count", "MaxGaugeCount,SumGaugeCount"},
    // How much there is now. Beware of sums of what is shared: pages of two processes count twice.
    NewtypeInfo{"GaugeBytes", CTPROF_U64, "gauge", "bytes", "MaxGaugeBytes,SumGaugeBytes"},
    // A number with a fraction, as it is now: a load, a temperature. Give the metric a unit of its
    // own where it has one.
    NewtypeInfo{"GaugeF64", CTPROF_F64, "gauge", "none", "MaxGaugeF64,SumGaugeF64,MeanGaugeF64"},
    // A share in hundredths of a percent, as an integer: 1234 is 12.34 %.
    NewtypeInfo{"GaugeRatio100", CTPROF_U64, "gauge", "percent", "MaxRatio"},
    // A place on a scale, with a sign: nice, a CPU number. A group has a range, no sum.
    NewtypeInfo{"OrdinalI32", CTPROF_I64, "categorical", "none", "RangeI32,MaxOrdinal"},
    // The same without a sign, up to 32 bits.
    NewtypeInfo{"OrdinalU32", CTPROF_U64, "categorical", "none", "RangeU32"},
    // The same, up to 64 bits.
    NewtypeInfo{"OrdinalU64", CTPROF_U64, "limit", "none", "MaxOrdinal,RangeU64"},
    // A name out of few: a policy, a state of a subsystem.
    NewtypeInfo{"CategoricalString", CTPROF_STRING, "categorical", "none", "Mode"},
    // One letter, such as a state.
    NewtypeInfo{"Char", CTPROF_STRING, "categorical", "none", "ModeChar"},
    // Yes or no.
    NewtypeInfo{"Flag", CTPROF_BOOL, "categorical", "none", "ModeBool,AnyFlag"},
    // A set of CPUs, as bits.
    NewtypeInfo{"CpuSet", CTPROF_BITSET, "categorical", "cpus", "Affinity"},
    // A bound that an administrator set; the largest number of 64 bits means "none".
    NewtypeInfo{"LimitBytes", CTPROF_U64, "limit", "bytes", "LimitMax"},
    // The same for a number of things.
    NewtypeInfo{"LimitCount", CTPROF_U64, "limit", "count", "LimitMax"},
    // The same for a time.
    NewtypeInfo{"LimitUs", CTPROF_U64, "limit", "us", "LimitMax"},
    // A guarantee that somebody set. The least of a group is what all of it can rely on.
    NewtypeInfo{"FloorBytes", CTPROF_U64, "limit", "bytes", "FloorMin"},
    // Counters by name, of events: memory.events of a cgroup.
    NewtypeInfo{"CountMap", CTPROF_MAP, "cumulative", "count", "MapSum"},
    // Counters by name, of bytes: io.stat by device.
    NewtypeInfo{"BytesMap", CTPROF_MAP, "cumulative", "bytes", "MapSum"},
    // Sizes by name, in KiB: smaps_rollup.
    NewtypeInfo{"KibMap", CTPROF_MAP, "gauge", "kib", "MapSum"},
    // Numbers by name that are of several kinds: memory.stat. The metric's map_keys say which key
    // is what.
    NewtypeInfo{"MixedMap", CTPROF_MAP, "gauge", "none", "MapMixed"},
    // Weighted call stacks, which a recorder hands over: what they weigh is a time ...
    NewtypeInfo{"StackNs", CTPROF_STACKS, "cumulative", "ns", "StackSum"},
    // ... or a number of events ...
    NewtypeInfo{"StackCount", CTPROF_STACKS, "cumulative", "count", "StackSum"},
    // ... or an amount of memory.
    NewtypeInfo{"StackBytes", CTPROF_STACKS, "cumulative", "bytes", "StackSum"},
    // The result of a formula, of ctprof_derived alone; no source offers it.
    NewtypeInfo{"Derived", CTPROF_F64, "gauge", "none", "Formula"},
    // Who or what a row is. Identities are never summed or compared.
    NewtypeInfo{"IdU32", CTPROF_U64, "identity", "none", "Key"},
    // The same, up to 64 bits.
    NewtypeInfo{"IdU64", CTPROF_U64, "identity", "none", "Key"},
    // The same, as a text.
    NewtypeInfo{"IdText", CTPROF_STRING, "identity", "text", "Key"},
};

// What a rule makes of many readings, by kind; the table below says which rule does what. `None` is
// for what is never reduced.
enum class Reduction { Sum, Max, Min, Mean, Range, Mode, Affinity, PerKey, None };

// One rule.
struct RuleInfo {
  std::string_view name;
  Reduction reduction;
  // The one unit that it is about; empty: any.
  std::string_view unit;
};

// Every built-in rule. Its unit keeps nanoseconds from being added up as bytes.
inline constexpr std::array kRules{
    // Sums: what happened to the group is what happened to its rows. They stop at 2^64-1 rather
    // than start again.
    RuleInfo{"SumCount", Reduction::Sum, "count"},
    RuleInfo{"SumNs", Reduction::Sum, "ns"},
    RuleInfo{"SumUs", Reduction::Sum, "us"},
    RuleInfo{"SumTicks", Reduction::Sum, "ticks"},
    RuleInfo{"SumBytes", Reduction::Sum, "bytes"},
    // Sums of what there is now. Meaningful only if no two rows count the same things.
    RuleInfo{"SumGaugeCount", Reduction::Sum, "count"},
    RuleInfo{"SumGaugeBytes", Reduction::Sum, "bytes"},
    // Of fractions. Their order of adding can change the last digit.
    RuleInfo{"SumGaugeF64", Reduction::Sum, "none"},
    // The largest. For what has no sum: the longest wait of ten threads is that of one of them.
    RuleInfo{"MaxPeak", Reduction::Max, "ns"},
    RuleInfo{"MaxPeakBytes", Reduction::Max, "bytes"},
    RuleInfo{"MaxPeakCount", Reduction::Max, "count"},
    // The largest now.
    RuleInfo{"MaxGaugeNs", Reduction::Max, "ns"},
    RuleInfo{"MaxGaugeCount", Reduction::Max, "count"},
    RuleInfo{"MaxGaugeBytes", Reduction::Max, "bytes"},
    RuleInfo{"MaxGaugeF64", Reduction::Max, "none"},
    // The mean of all rows that have a value.
    RuleInfo{"MeanGaugeF64", Reduction::Mean, "none"},
    // Shares: the largest, told in percent.
    RuleInfo{"MaxRatio", Reduction::Max, "percent"},
    // The highest place on a scale.
    RuleInfo{"MaxOrdinal", Reduction::Max, "none"},
    // Bounds: the loosest limit and the weakest guarantee of the group.
    RuleInfo{"LimitMax", Reduction::Max, ""},
    RuleInfo{"FloorMin", Reduction::Min, "bytes"},
    // From the smallest to the largest; its number is the middle of the two.
    RuleInfo{"RangeI32", Reduction::Range, "none"},
    RuleInfo{"RangeU32", Reduction::Range, "none"},
    RuleInfo{"RangeU64", Reduction::Range, "none"},
    // What most rows are, and how many of them.
    RuleInfo{"Mode", Reduction::Mode, ""},
    RuleInfo{"ModeChar", Reduction::Mode, ""},
    RuleInfo{"ModeBool", Reduction::Mode, ""},
    // True if any is true.
    RuleInfo{"AnyFlag", Reduction::Mode, ""},
    // How many CPUs each has, and which where all have the same.
    RuleInfo{"Affinity", Reduction::Affinity, "cpus"},
    // Key by key; keys that only some rows have count where they are.
    RuleInfo{"MapSum", Reduction::PerKey, ""},
    RuleInfo{"MapMixed", Reduction::PerKey, ""},
    // Stack by stack; as a number, what they weigh together.
    RuleInfo{"StackSum", Reduction::Sum, ""},
    // Nothing is reduced: a formula is computed from the values of its inputs, a key identifies
    // rows, a dead counter never moves.
    RuleInfo{"Formula", Reduction::None, ""},
    RuleInfo{"Key", Reduction::None, ""},
    RuleInfo{"Dead", Reduction::None, ""},
};

// Finds `name` in one of the two tables; null when it is not there. Works while compiling, which is
// how a misspelt newtype stops the compiler.
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

// Whether `word` is in `list`, whose words have commas between, and no blanks.
constexpr bool is_listed(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    list = comma == list.npos ? std::string_view{} : list.substr(comma + 1);
  }
  return false;
}

// What a pairing of a newtype with a rule is: fine, or which mistake. The mistakes are kept apart
// because each needs a different repair:
//
//   PeakSummed        take the largest
//   UnitsDiffer       take the rule for the newtype's unit
//   DeadReduced       take Dead, or do not declare the metric
//   CategoryCounted   take what most rows are
//   WithoutMeaning    take one of the rules that the newtype names
enum class Pairing { Fits, PeakSummed, UnitsDiffer, DeadReduced, CategoryCounted, WithoutMeaning };

// Which of them it is. A pair that the newtype's line names fits, whatever else is true of it.
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

// The sentence for a mistake; empty for what fits. A plugin whose table was made without these
// headers is refused with the same words when it is loaded.
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

// --- the part that a metric plays: its section in reports, and its role in the accounting of a
// window ---
//
//   inline constexpr sdk::Metric<sdk::MonotonicNs, sdk::SumNs> kRunTime{{
//       .name = "run_time_ns", .section = "example", .description = "...", .role = "run-time"}};
//
// A section is a part of what show and compare print. A metric names its section; one that is not
// in the table below comes after those that are. `--sections example` then shows it alone.
//
// The core knows no metric by name. To say how much of the host's busy time the threads explain, it
// looks for the metrics that claim a role. One metric of each entity may have a role, where the
// table does not say otherwise; only ctprof's own plugins may claim one.

// A section. A third party needs no line here: it names a section of its own in its metrics, and
// that name becomes the heading.
struct SectionInfo {
  std::string_view name;
  // Its metrics are of cgroups, and have groups only under --group-by cgroup.
  bool needs_cgroups;
};

// The sections in the order of a report: first what a thread did, then what it waited for, what is
// computed from both, its surroundings, and last what only some hosts have. To add a section, add a
// line here.
inline constexpr SectionInfo kSections[] = {
    {"primary", false},      {"taskstats-delay", false}, {"derived", false},
    {"cgroup-stats", true},  {"cgroup-limits", true},    {"memory-stat", true},
    {"memory-events", true}, {"pressure", true},         {"host-pressure", false},
    {"smaps-rollup", false}, {"sched-ext", false},       {"host-cpu", false},
    {"host-disk", false},    {"host-memory", false},     {"off-cpu", false},
    {"stacks", false},
};

// The roles. A role has a meaning that accounting relies on, so it comes with a unit and an entity,
// which the metric must have. Where no metric claims a role, what depends on it is not reported,
// and nothing is guessed.
//
//   busy time of the host = CPUs * wall time - idle - iowait, less what its kernel keeps apart
//   explained by threads  = the sum of their run-time
//   blocked-time          = wall time - run-time - wait-time
inline constexpr std::array<std::string_view, 34> kRoles{
    "run-time",               // a thread's time on a CPU, ns
    "wait-time",              // a thread's time waiting for a CPU, ns
    "run-time-in-progress",   // what of a thread's present turn is not in its run-time yet, ns
    "wait-time-in-progress",  // what of a thread's present wait is not in its wait-time yet, ns
    "user-time",              // a thread's time in user mode, and ...
    "system-time",            // ... in the kernel, in one unit; only their sum never falls
    "state",                  // a thread's state as in /proc/PID/stat; R: runs or waits for a CPU
    "blocked-time",           // a thread's time neither running nor waiting for a CPU, ns
    "resident",               // a process's resident memory, bytes
    "host-user",              // the host's CPU time, by state, ns: in user mode, ...
    "host-system",            // ... in the kernel,
    "host-idle",              // ... idle,
    "host-iowait",            // ... idle while a task waits for a disk,
    "host-irq",               // ... in interrupts,
    "host-softirq",           // ... in softirqs,
    "host-steal",             // ... taken by the hypervisor
    "host-wall",              // the time by the clock when the host's CPU times were read, ns
    "host-cpus",              // how many CPUs the host has online
    "host-irq-apart",         // whether interrupts are no part of threads' run-time
    "host-steal-apart",       // whether what the hypervisor took is no part of it
    "waiting-stacks",         // stacks at which a thread was not running; several metrics may be
    "running-stacks",         // samples of a thread's time on a CPU, by stack, ns; the same
    "disk-read",              // what the host's disks read, bytes, ...
    "disk-write",             // ... and wrote
    "disk-busy",              // how long they had requests, all disks added up, ns
    "memory-available",    // memory that the host has for new allocations without swapping, bytes
    "load",                // the host's load average of a minute
    "cpu-pressure",        // how long some thread of the host waited for a CPU, us, ...
    "io-pressure",         // ... for a disk, ...
    "memory-pressure",     // ... for memory
    "throttled-time",      // how long a cgroup stood still for lack of quota, us
    "voluntary-switches",  // how often a thread gave up its CPU to wait
    "major-faults",        // a thread's page faults that read from a disk or swap
    "memory-events",       // a map of a cgroup's memory events by name, as in memory.events
};

// Whether `word` is one of them.
constexpr bool is_role(std::string_view word) {
  return std::find(kRoles.begin(), kRoles.end(), word) != kRoles.end();
}

}  // namespace ctprof
