// Describes the capture of a row, in fields that every row of a table has.
//
// See also: table_rows.hpp (the rows).

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct CaptureFields {
  // The id of the capture, the same in all of its rows and unique: the host's boot id and the time
  // of the capture in ns of CLOCK_BOOTTIME, "BOOT@CAPTURED" for a snapshot, "BOOT@OPENED-CAPTURED"
  // for a window. Only the time if the file has no boot id.
  std::string capture;
  // The end of a window or the time of a snapshot, in the format of format_utc_time(). None if it
  // is unknown or after the year 2262, which exceeds readers that count ns in 63 bits.
  std::optional<std::string> captured_at;
  std::optional<std::string> host;         // none: omitted or unknown
  std::optional<std::uint64_t> window_ns;  // length of the window; none: lifetimes
};

CaptureFields make_capture_fields(const Snapshot& snapshot);

// Returns text such as "2026-11-24T06:37:12.123456789Z".
std::string format_utc_time(std::uint64_t unix_ns);

}  // namespace ctprof
