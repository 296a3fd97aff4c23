// ctprof fleet time: prints a point in time that a user wrote, as ns since 1970.

#include <span>
#include <string>

#include "core/archive/time_text.hpp"
#include "core/base/clock.hpp"
#include "tools/ctprof/fleet/fleet.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {

int run_fleet_time(std::span<const char* const> words) {
  if (words.size() != 1) return fail("fleet time takes one point in time");
  const auto unix_ns = parse_time(words.front(), realtime_ns());
  if (!unix_ns) return fail(unix_ns.error());
  return print("{\"unix_ns\":" + std::to_string(*unix_ns) + "}\n");
}

}  // namespace ctprof::cli
