// Parses and formats times, durations and sizes as users write them, in the host's time zone.
//
//   now                                today, yesterday            (their midnight)
//   10 min ago, 2 hours ago, 3d ago    yesterday 15:00, 15:00      (today)
//   2026-11-23, 2026-11-23 15:00, 2026-11-23T15:00:30, the latter two with Z for UTC
//   @1790000000                        seconds since 1970
//
// Units are us, ms, s, min, h, d and w, and their English names. A day is always 24 hours, also
// across a change of daylight saving time.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace ctprof {

// Returns ns since 1970. The error lists the accepted forms. Ignores case and blanks at both ends.
Result<std::uint64_t> parse_time(std::string_view text, std::uint64_t now_unix_ns);

// Returns text such as "2026-11-23 15:00:02", in the host's time zone. For people only;
// machine-readable formats such as JSON do not use it.
std::string format_local_time(std::uint64_t unix_ns);
// Returns both times with " to " between them.
std::string format_local_times(std::uint64_t from_unix_ns, std::uint64_t until_unix_ns);

// Formats a duration in the largest unit in which it is at least one: "7 d", "1.5 h".
std::string format_duration(std::uint64_t ns);

// Parses a duration such as "60s", "7d", "1.5h", "1h30m" or "500ms" into ns. A number without a
// unit is in seconds. Returns 0 if the text is invalid.
std::uint64_t parse_duration(std::string_view text);
// Parses a size such as "2G", "500M" or "1.5GiB" into bytes; units are powers of 1024. Returns 0 if
// the text is invalid.
std::uint64_t parse_size(std::string_view text);

}  // namespace ctprof
