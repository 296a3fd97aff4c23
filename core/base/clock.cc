#include "core/base/clock.hpp"

#include <time.h>

namespace ctprof {
namespace {

std::uint64_t read(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

std::uint64_t boottime_ns() { return read(CLOCK_BOOTTIME); }
std::uint64_t monotonic_ns() { return read(CLOCK_MONOTONIC); }
std::uint64_t realtime_ns() { return read(CLOCK_REALTIME); }
std::uint64_t cpu_time_ns() { return read(CLOCK_PROCESS_CPUTIME_ID); }
std::uint64_t thread_cpu_time_ns() { return read(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace ctprof
