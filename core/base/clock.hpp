// The clocks, in ns, each by its own name.

#pragma once

#include <cstdint>

namespace ctprof {

inline constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

// CLOCK_BOOTTIME: since the host started, its sleep included; comparable within one boot.
std::uint64_t boottime_ns();
// CLOCK_MONOTONIC: for durations of our own.
std::uint64_t monotonic_ns();
// CLOCK_REALTIME: since 1970, as people set it.
std::uint64_t realtime_ns();
// The CPU time of this process so far, user and system.
std::uint64_t cpu_time_ns();
// Of the calling thread alone.
std::uint64_t thread_cpu_time_ns();

}  // namespace ctprof
