// Reads clocks, in ns.

#pragma once

#include <cstdint>

namespace ctprof {

inline constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

// CLOCK_BOOTTIME: time since the host started, including suspend; comparable within one boot.
std::uint64_t boottime_ns();
// CLOCK_MONOTONIC: for durations inside ctprof.
std::uint64_t monotonic_ns();
// CLOCK_REALTIME: time since 1970; it can be set.
std::uint64_t realtime_ns();
// Returns the CPU time of this process so far, user and system.
std::uint64_t cpu_time_ns();
// Returns the CPU time of the calling thread.
std::uint64_t thread_cpu_time_ns();

}  // namespace ctprof
