// What a metric is called where Prometheus reads it, and in which unit: seconds, bytes, ratios.
//
//   run_time_ns, counted since the server began      ctprof_run_time_seconds_total
//   run_time_ns, in a window                         ctprof_run_time_seconds_per_second
//   run_time_ns, since the threads were born         ctprof_lifetime_run_time_seconds
//   rss_bytes                                        ctprof_rss_bytes
//   cgroup.memory.max                                ctprof_cgroup_memory_max_bytes
//
// The name is the metric's own without what it says of its unit; the unit is that of its
// definition.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/tables/exposition.hpp"

namespace ctprof {

// What is told of a metric that counts up.
enum class Counted : std::uint8_t {
  Lifetime,   // a gauge: it falls when a thread ends
  PerSecond,  // a gauge: what happened in a window, by its length
  Total,      // a counter: what happened since somebody began to add it up
};

struct NamedFamily {
  SeriesFamily family;  // without series
  double scale = 1;     // makes a figure what is told of it, but for seconds of a window
};

// `metric`: its name; `key_apart`: of a map whose keys are of several kinds, the unit is in `unit`.
// A unit that is not known here stays as it is. `user_hz`: ticks of clocks a second.
NamedFamily family_of(std::string_view metric, std::string_view unit, bool adds_up, Counted counted,
                      double user_hz);

// Letters, digits and _ of a name, for a label.
std::string label_name(std::string_view name);

}  // namespace ctprof
