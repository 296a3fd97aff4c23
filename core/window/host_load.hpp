// The size of a host, and how loaded it was in a window: memory, pressure, disks, load, throttling.
//
// The figures are found by their roles. Each is none where the file has no metric of that role, or
// no value of it. Shares are fractions of the window's wall time as the host's clock has it.
//
// Not here: CPU time by threads (accounting.hpp).

#pragma once

#include <optional>
#include <string>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct HostLoad {
  std::optional<double> cpus;
  std::optional<double> memory_available;  // bytes, at the end
  std::optional<double> load;              // of the last minute, at the end
  // The share of time in which some thread waited; at most 1.
  std::optional<double> cpu_pressure, io_pressure, memory_pressure;
  std::optional<double> iowait;  // of one CPU: CPUs that were idle while a thread waited for a disk
  std::optional<double> throttled;  // of one CPU, all cgroups added up
  // The cgroup that was throttled most, of one CPU.
  std::string throttled_cgroup;
  double throttled_most = 0;
  // Processes that the kernel killed for lack of memory, and the cgroup of most of them.
  double oom_kills = 0;
  std::string oom_cgroup;
  // Of the host's disks: bytes per second, and the share of time with requests, at most 1.
  std::optional<double> disk_bytes, disk_busy;
};

// REQUIRES: to_differences() was called.
HostLoad host_load(const Snapshot& window);

}  // namespace ctprof
