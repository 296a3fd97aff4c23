// Parses the formats of cgroup files other than single numbers and flat keyed text: limits and
// io.stat.
//
// A limit is a number or the word `max`; cpu.max is a limit and a period, "60000 100000".
//
// io.stat has a line for each block device that was ever used, `major:minor rbytes=1 wbytes=2
// rios=3 wios=4 dbytes=5 dios=6`. Policies append their own keys (cost.usage=...), which are
// ignored. Some kernels drop the end of a line, so that two devices share one line. Therefore all
// keys up to the next device belong to a device, regardless of line ends.
//
// All functions are pure functions on text.
// See also: plugins/shared/text_formats for flat keyed text, files.hpp for the columns.

#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "ctprof/gap.hpp"
#include "ctprof/metric.hpp"

namespace ctprof::cgroup {

// The value of `max`: the largest number, which the rules for limits treat as "no limit".
inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

sdk::Reading<std::uint64_t> parse_limit(std::string_view text);

struct CpuMax {
  sdk::ReadingOf<sdk::LimitUs> quota_us = Gap::Malformed;
  sdk::ReadingOf<sdk::LimitUs> period_us = Gap::Malformed;
};
// Parses "60000 100000" or "max 100000".
CpuMax parse_cpu_max(std::string_view text);

// One map per key, from device to value. An empty map is a value: no device has the key.
struct IoStat {
  enum Key { Rbytes, Wbytes, Rios, Wios, Dbytes, Dios };
  static constexpr std::size_t kKeys = 6;

  std::array<std::vector<ctprof_entry>, kKeys> maps;  // devices are views into the text
  std::array<bool, kKeys> malformed{};                // whether a number of this key is malformed

  sdk::Reading<sdk::Entries> operator[](Key key) const;
};

// Returns the map of one key, as bytes or as calls.
template <IoStat::Key kKey>
sdk::ReadingOf<sdk::BytesMap> io_bytes(const IoStat& io) {
  static_assert(kKey == IoStat::Rbytes || kKey == IoStat::Wbytes || kKey == IoStat::Dbytes);
  return io[kKey];
}
template <IoStat::Key kKey>
sdk::ReadingOf<sdk::CountMap> io_calls(const IoStat& io) {
  static_assert(kKey == IoStat::Rios || kKey == IoStat::Wios || kKey == IoStat::Dios);
  return io[kKey];
}

void parse_io_stat(std::string_view text, IoStat& io);

}  // namespace ctprof::cgroup
