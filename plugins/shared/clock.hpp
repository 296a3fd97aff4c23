// The clocks of a recorder. core/base/clock.hpp reads clocks and converts times.

#pragma once

#include "core/base/clock.hpp"

namespace ctprof {

// Tests replace the clocks by recorded times.
class Clocks {
 public:
  virtual ~Clocks() = default;
  virtual std::uint64_t now_ns(clockid_t clock) const { return clock_ns(clock); }
};

}  // namespace ctprof
