// Reads the CPU quota of a cgroup in the v1 hierarchy of the cpu controller, and its effect:
// cpu.cfs_quota_us, cpu.cfs_period_us and cpu.stat.
//
// A quota is a number of microseconds per period, or -1 for no limit. cpu.stat has a key and a
// number in each line; throttled_time is in nanoseconds.
//
// See also: plugins/cgroup for the files of the v2 hierarchy.

#pragma once

#include <cstdint>
#include <string_view>

#include "ctprof/files.hpp"
#include "ctprof/metric.hpp"

namespace ctprof::cgroup_v1 {

struct CpuBandwidth {
  sdk::ReadingOf<sdk::LimitUs> quota_us = Gap::Unsupported;
  sdk::ReadingOf<sdk::LimitUs> period_us = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicCount> periods = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicCount> throttled_periods = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicNs> throttled_time = Gap::Unsupported;

  // Returns false if the cgroup has no quota and never had one: all of its figures are zero.
  bool is_limited() const;
};

// Parses "20000" or "-1"; the largest number represents no limit.
sdk::ReadingOf<sdk::LimitUs> parse_quota(std::string_view text);

// Reads the files of an open cgroup. In a directory without them all values are Unsupported.
CpuBandwidth read_bandwidth(sdk::TextFile& file, int directory);

}  // namespace ctprof::cgroup_v1
