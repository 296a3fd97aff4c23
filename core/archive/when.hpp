// Moments as people say them, on the host's clock and in its time zone.
//
//   now                                today, yesterday            (their midnight)
//   10 min ago, 2 hours ago, 3d ago    yesterday 15:00, 15:00      (of today)
//   2026-11-23, 2026-11-23 15:00, 2026-11-23T15:00:30, the latter two with Z for UTC
//   @1790000000                        seconds since 1970
//
// Units are us, ms, s, min, h, d and w, and their English names. A day ago is 24 hours, also where
// a clock changes between summer and winter.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace ctprof {

// In ns since 1970. The error says what could be meant. Case and blanks at the ends do not matter.
Result<std::uint64_t> parse_when(std::string_view text, std::uint64_t now_unix_ns);

// "2026-11-23 15:00:02", in the host's time zone; in JSON and the like say it otherwise.
std::string local_time(std::uint64_t unix_ns);
// Both, with " to " between them.
std::string local_times(std::uint64_t from_unix_ns, std::uint64_t until_unix_ns);

// "7 d", "90 s", "1.5 h": so long, in the largest unit of which it is one at least.
std::string how_long(std::uint64_t ns);

// A length of time, "60s", "7d", "1.5h", "1h30m", "500ms"; without a unit it is seconds. 0: it is
// none.
std::uint64_t parse_length(std::string_view text);
// "2G", "500M", "1.5GiB"; of 1024. 0: it is none.
std::uint64_t parse_size(std::string_view text);

}  // namespace ctprof
