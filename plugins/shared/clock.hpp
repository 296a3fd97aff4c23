// What the kernel's clocks say.

#pragma once

#include <ctime>

#include <cstdint>

#include "core/base/clock.hpp"

namespace ctprof {

// Now, in ns: of CLOCK_BOOTTIME, on which ctprof tells moments, or of any other. 0 if there is no
// such clock.
inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// The clocks as a recorder reads them; tests replace them by recorded times.
class Clocks {
 public:
  virtual ~Clocks() = default;
  virtual std::uint64_t now_ns(clockid_t clock) const { return clock_ns(clock); }
};

}  // namespace ctprof
