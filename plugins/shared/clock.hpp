// Reads the kernel's clocks.

#pragma once

#include <ctime>

#include <cstdint>

#include "core/base/clock.hpp"

namespace ctprof {

// Returns the current time of a clock in ns. ctprof uses CLOCK_BOOTTIME for times. Returns 0 if the
// clock does not exist.
inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Clocks of a recorder. Tests replace them by recorded times.
class Clocks {
 public:
  virtual ~Clocks() = default;
  virtual std::uint64_t now_ns(clockid_t clock) const { return clock_ns(clock); }
};

}  // namespace ctprof
