// Parses /proc/diskstats: one line for each block device and partition, with the numbers of the
// kernel's Documentation/admin-guide/iostats.rst.
//
//    8  0 sda 4 3 720 9 5 1 88 12 0 15 21 2 0 16 1 6 7
//
// Major and minor number and name, then 11 numbers; 4 more about discards since Linux 4.18, and 2
// about flushes since 5.5. Sectors have 512 bytes, times are in milliseconds.

#pragma once

#include <string_view>
#include <vector>

#include "ctprof/gap.hpp"
#include "ctprof/metric.hpp"

namespace ctprof::disk {

// One line. A number that the line lacks is Unsupported; one that cannot be parsed is Malformed.
struct Diskstats {
  std::string_view device;
  sdk::ReadingOf<sdk::MonotonicCount> reads = Gap::Unsupported;
  sdk::ReadingOf<sdk::Bytes> read_bytes = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicNs> read_time = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicCount> writes = Gap::Unsupported;
  sdk::ReadingOf<sdk::Bytes> written_bytes = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicNs> write_time = Gap::Unsupported;
  sdk::ReadingOf<sdk::GaugeCount> in_flight = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicNs> busy_time = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicNs> queue_time = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicCount> discards = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicCount> flushes = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicNs> flush_time = Gap::Unsupported;

  // Returns whether the device completed or started any request; true if a number cannot be parsed.
  bool was_used() const;
};

// Returns the lines that have a name, in their order. The names refer to `text`.
std::vector<Diskstats> parse_diskstats(std::string_view text);

}  // namespace ctprof::disk
