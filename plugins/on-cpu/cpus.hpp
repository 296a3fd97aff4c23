// The CPUs of a host, and for how long each of them was idle.
//
// Sources: /sys/devices/system/cpu/online, /proc/stat.

#pragma once

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

}  // namespace ctprof::on_cpu
