// What every row of a table says of the capture that it is from.
//
// Not here: the rows (table_rows.hpp).

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct CaptureMark {
  // The same for every row of a capture, and of no other: the host's boot, and when in it the
  // capture was made, in ns of CLOCK_BOOTTIME: "BOOT@CAPTURED" of a snapshot,
  // "BOOT@OPENED-CAPTURED" of a window. Of a file that does not know its boot the time alone.
  std::string capture;
  // Of a window its end, as utc_time() has it. None: not known, or beyond the year 2262, which is
  // too much for readers that count ns in 63 bits.
  std::optional<std::string> captured_at;
  std::optional<std::string> host;         // none: it was left out, or is not known
  std::optional<std::uint64_t> window_ns;  // how long the window was; none: lifetimes
};

CaptureMark mark_of(const Snapshot& snapshot);

// "2026-11-24T06:37:12.123456789Z"
std::string utc_time(std::uint64_t unix_ns);

}  // namespace ctprof
