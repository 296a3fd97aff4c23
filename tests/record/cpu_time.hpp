// CPU time of all CPUs of this host.

#pragma once

#include <unistd.h>

#include <array>
#include <fstream>
#include <numeric>
#include <string>

namespace ctprof {

// CPU time of all CPUs, from /proc/stat: total, idle, and stolen by a hypervisor.
struct CpuTime {
  double total_ns = 0, idle_ns = 0, stolen_ns = 0;
};

inline CpuTime read_cpu_time() {
  std::ifstream stat("/proc/stat");
  std::string cpu;
  std::array<double, 8> times{};  // user, nice, system, idle, iowait, irq, softirq, steal
  stat >> cpu;
  for (double& ticks : times) {
    stat >> ticks;
    ticks *= 1e9 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  return {std::accumulate(times.begin(), times.end(), 0.0), times[3] + times[4], times[7]};
}

}  // namespace ctprof
