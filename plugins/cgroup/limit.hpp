// Limits of a cgroup: files of a number or the word `max`, and cpu.max, which is one of these and a
// period.

#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "ctprof/metric.hpp"
#include "ctprof/reading.hpp"

namespace ctprof::cgroup {

// What `max` reads as: the largest number, which the rules for limits take for none.
inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

sdk::Reading<std::uint64_t> parse_limit(std::string_view text);

struct CpuMax {
  sdk::ReadingOf<sdk::LimitUs> quota_us = Gap::Malformed;
  sdk::ReadingOf<sdk::LimitUs> period_us = Gap::Malformed;
};
// "60000 100000" or "max 100000".
CpuMax parse_cpu_max(std::string_view text);

}  // namespace ctprof::cgroup
