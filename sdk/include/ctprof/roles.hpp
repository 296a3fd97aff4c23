// Roles: what the accounting of a window takes a metric for.
//
//   inline constexpr sdk::Metric<sdk::MonotonicNs, sdk::SumNs> kRunTime{{
//       .name = "run_time_ns", .description = "...", .role = "run-time"}};
//
// The core knows no metric by name. To say how much of the host's busy time the threads explain, it
// looks for the metrics that claim these roles. One metric of each entity may have a role; only
// ctprof's own plugins may claim one.

#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace ctprof {

// Without a metric for a role, what depends on it is not told; nothing is guessed.
//
// A role names the meaning that accounting relies on, so it comes with a unit and an entity, which
// the metric must have:
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
