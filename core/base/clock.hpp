// Reads clocks, and converts the kernel's representations of time to ns. Inline, so that the
// plugins that ship with ctprof can include it without linking the core.

#pragma once

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace ctprof {

inline constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

// Returns the time in ns; 0 if it is negative, such as a time stamp before 1970. `Time`: timespec
// or statx_timestamp.
template <class Time>
constexpr std::uint64_t to_ns(const Time& time) {
  if (time.tv_sec < 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// Returns the current time of a clock. Returns 0 if the clock does not exist.
inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return to_ns(now);
}

// CLOCK_BOOTTIME: time since the host started, including suspend; comparable within one boot.
inline std::uint64_t boottime_ns() { return clock_ns(CLOCK_BOOTTIME); }
// CLOCK_MONOTONIC: for durations inside ctprof.
inline std::uint64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }
// CLOCK_REALTIME: time since 1970; it can be set.
inline std::uint64_t realtime_ns() { return clock_ns(CLOCK_REALTIME); }
// Returns the CPU time of this process so far, user and system.
inline std::uint64_t cpu_time_ns() { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }
// Returns the CPU time of the calling thread.
inline std::uint64_t thread_cpu_time_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

// Returns the kernel's clock ticks per second (USER_HZ), the unit of times in /proc.
inline std::uint64_t clock_ticks_per_second() {
  return static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
}
// Returns the length of a clock tick. A file may contain any number of ticks per second, so 0
// counts as 1.
constexpr std::uint64_t ns_per_tick(std::uint64_t ticks_per_second) {
  return kNsPerSecond / std::max<std::uint64_t>(ticks_per_second, 1);
}

}  // namespace ctprof
