// The part that a metric plays: its section in reports, and its role in the accounting of a window.
//
//   inline constexpr sdk::Metric<sdk::GaugeCount, sdk::MaxGaugeCount> kDepth{{
//       .name = "example_queue_depth", .section = "example", .description = "..."}};
//
// A section is a part of what show and compare print. A metric names its section; one that is not
// in the table below comes after those that are. `--sections example` then shows it alone.
//
//   inline constexpr sdk::Metric<sdk::MonotonicNs, sdk::SumNs> kRunTime{{
//       .name = "run_time_ns", .description = "...", .role = "run-time"}};
//
// The core knows no metric by name. To say how much of the host's busy time the threads explain, it
// looks for the metrics that claim a role. One metric of each entity may have a role; only ctprof's
// own plugins may claim one.

#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace ctprof {

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
};

// The roles. A role has a meaning that accounting relies on, so it comes with a unit and an entity,
// which the metric must have. Where no metric claims a role, what depends on it is not reported,
// and nothing is guessed.
//
//   busy time of the host = user + system + irq + softirq + steal, as far as its kernel counts them
//   explained by threads  = the sum of their run-time
//   blocked-time          = wall time - run-time - wait-time
inline constexpr std::array<std::string_view, 11> kRoles{
    "run-time",      // a thread's time on a CPU, ns
    "wait-time",     // a thread's time waiting for a CPU, ns
    "blocked-time",  // a thread's time neither running nor waiting for a CPU, ns
    "resident",      // a process's resident memory, bytes
    "host-user",     // the host's CPU time, by state, ns: in user mode, ...
    "host-system",   // ... in the kernel,
    "host-idle",     // ... idle,
    "host-iowait",   // ... idle while a task waits for a disk,
    "host-irq",      // ... in interrupts,
    "host-softirq",  // ... in softirqs,
    "host-steal",    // ... taken by the hypervisor
};

// Whether `word` is one of them.
constexpr bool is_role(std::string_view word) {
  return std::find(kRoles.begin(), kRoles.end(), word) != kRoles.end();
}

}  // namespace ctprof
