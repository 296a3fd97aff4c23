// Computes the size of a host and its load in a window: memory, pressure, disks, throttling.
//
// Metrics are found by role. A value is nullopt if the file has no metric with that role, or no
// value. Shares are fractions of the window's wall time on the host's clock.
//
// See also: accounting.hpp divides CPU time between threads.

#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// The CPU time that a cgroup may use per period.
struct CpuQuota {
  double quota_us = 0, period_us = 0;
  std::string file;  // the file that sets it, such as cpu.max; may be empty
};

struct HostLoad {
  std::optional<double> cpus;
  std::optional<double> memory_available;  // bytes, at the end
  std::optional<double> load;              // 1-minute load average, at the end
  // Share of the time in which at least one thread waited; at most 1.
  std::optional<double> cpu_pressure, io_pressure, memory_pressure;
  std::optional<double> iowait;     // in CPUs that were idle while a thread waited for a disk
  std::optional<double> throttled;  // in CPUs, sum of all cgroups
  // The cgroups with the largest values, by path; at most kMaxCgroups each.
  std::map<std::string, double> throttled_cgroups;  // in CPUs
  // The quotas of these throttled cgroups at the end, where they are known.
  std::map<std::string, CpuQuota> cpu_quotas;
  // The plugin's entity whose rows these throttled cgroups are; none: they are v2 cgroups. A host
  // throttles the cgroups of only one hierarchy.
  std::optional<Entity> throttled_entity;
  std::map<std::string, double> oom_kills;  // processes that the OOM killer killed in the cgroup
  // All disks of the host: bytes per second, and the share of time with requests, at most 1.
  std::optional<double> disk_bytes, disk_busy;

  static constexpr std::size_t kMaxCgroups = 64;
};

// REQUIRES: convert_to_differences() was called.
HostLoad compute_host_load(const Snapshot& window);

}  // namespace ctprof
