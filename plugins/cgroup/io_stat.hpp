// io.stat: a line per block device, `major:minor rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6`.
//
// A device has a line once it was used. Policies append keys of their own (cost.usage=...), which
// are left out. Some kernels leave out the end of a line, so that two devices stand on one: what
// follows a device is its own, wherever the line ends.

#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "ctprof/metric.hpp"
#include "ctprof/reading.hpp"

namespace ctprof::cgroup {

// One map for each key, by device. Empty ones are values: no such device.
struct IoStat {
  enum Key { Rbytes, Wbytes, Rios, Wios, Dbytes, Dios };
  static constexpr std::size_t kKeys = 6;

  std::array<std::vector<ctprof_entry>, kKeys> maps;  // devices are views into the text
  std::array<bool, kKeys> malformed{};  // a number of this key could not be understood

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
