// The CPUs of a host, and for how long each of them was idle.
//
// Sources: /sys/devices/system/cpu/online and possible, /proc/stat.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ctprof/host.hpp"

namespace ctprof::on_cpu {

// Those of /sys/devices/system/cpu/online, in order; none where it cannot be read.
std::vector<int> online_cpus(const sdk::Host& host);
// For how long a CPU has been idle, by /proc/stat, in whole hundredths of a second mostly; 0 where
// that does not tell.
std::uint64_t idle_ns(const sdk::Host& host, int cpu);
// The same from its text, in ticks: "cpu0 user nice system idle iowait ...".
std::uint64_t idle_in(std::string_view stat, int cpu);
// "0-3,8" as numbers; empty where it is anything else.
std::vector<int> cpus_of(std::string_view list);

// CPUs that the kernel may have, which decide the sizes of BPF maps and their values.
struct PossibleCpus {
  std::size_t count = 0;    // values of a per-CPU map
  std::size_t numbers = 0;  // the highest number + 1: keys of an array by CPU
};

// From the text of /sys/devices/system/cpu/possible; zeros where it is no list.
PossibleCpus possible_in(std::string_view list);
// Those of this kernel; where it does not list them, as many as sysconf(3) counts.
PossibleCpus possible_cpus();

}  // namespace ctprof::on_cpu
