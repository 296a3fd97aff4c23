// The formats of cgroup files that are more than one number or flat keyed: limits and io.stat.
//
// A limit is a number or the word `max`; cpu.max is a limit and a period, "60000 100000".
//
// io.stat has a line for each block device that was ever used,
// `major:minor rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6`. Policies append keys of their own
// (cost.usage=...), which are left out. Some kernels drop the end of a line, so that two devices
// share one; so whatever follows a device belongs to it, wherever the line ends.
//
// What is here:   parsing; pure functions on text.
// What is not:    flat keyed text (plugins/shared/flat_keyed), which column takes which figure
// (files.hpp).

#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "ctprof/gap.hpp"
#include "ctprof/metric.hpp"

namespace ctprof::cgroup {

// `max`, as a value: the largest number, which the rules for limits take as "no limit".
inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

sdk::Reading<std::uint64_t> parse_limit(std::string_view text);

struct CpuMax {
  sdk::ReadingOf<sdk::LimitUs> quota_us = Gap::Malformed;
  sdk::ReadingOf<sdk::LimitUs> period_us = Gap::Malformed;
};
// "60000 100000" or "max 100000".
CpuMax parse_cpu_max(std::string_view text);

// One map for each key, by device. An empty map is a value: no device has the key.
struct IoStat {
  enum Key { Rbytes, Wbytes, Rios, Wios, Dbytes, Dios };
  static constexpr std::size_t kKeys = 6;

  std::array<std::vector<ctprof_entry>, kKeys> maps;  // devices are views into the text
  std::array<bool, kKeys> malformed{};                // some number of this key is malformed

  sdk::Reading<sdk::Entries> operator[](Key key) const;
};

// The map of one key, as bytes or as calls.
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
