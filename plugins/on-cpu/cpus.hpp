// Reads the CPUs of a host, and their idle times.
//
// Sources: /sys/devices/system/cpu/online and possible, /proc/stat.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ctprof/host.hpp"

namespace ctprof::on_cpu {

// Returns the CPUs of /sys/devices/system/cpu/online, in order; none if it cannot be read.
std::vector<int> read_online_cpus(const sdk::Host& host);
// Returns how long a CPU has been idle, from /proc/stat, usually in whole hundredths of a second; 0
// if unknown.
std::uint64_t read_idle_ns(const sdk::Host& host, int cpu);
// Returns the same from the text of the file, in ticks: "cpu0 user nice system idle iowait ...".
std::uint64_t parse_idle_ticks(std::string_view stat, int cpu);
// Parses "0-3,8" as numbers; returns an empty list for other text.
std::vector<int> parse_cpu_list(std::string_view list);

// The possible CPUs of the kernel, which determine the sizes of BPF maps and their values.
struct PossibleCpus {
  std::size_t count = 0;         // number of values of a per-CPU map
  std::size_t number_limit = 0;  // the highest number + 1: the number of keys of an array by CPU
};

// Parses the text of /sys/devices/system/cpu/possible; returns zeros if it is not a list.
PossibleCpus parse_possible_cpus(std::string_view list);
// Returns those of this kernel; if it does not list them, the number of sysconf(3).
PossibleCpus read_possible_cpus();

}  // namespace ctprof::on_cpu
