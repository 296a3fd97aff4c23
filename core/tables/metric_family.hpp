// Makes the name and unit of a metric for Prometheus: seconds, bytes, ratios.
//
//   run_time_ns, counted since the server started    ctprof_run_time_seconds_total
//   run_time_ns, in a window                         ctprof_run_time_seconds_per_second
//   run_time_ns, since the threads started           ctprof_lifetime_run_time_seconds
//   rss_bytes                                        ctprof_rss_bytes
//   cgroup.memory.max                                ctprof_cgroup_memory_max_bytes
//
// The name is that of the metric without the suffix for its unit; the unit comes from its
// definition.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/tables/exposition.hpp"

namespace ctprof {

// The form in which a counter metric is exported.
enum class CounterForm : std::uint8_t {
  Lifetime,   // a gauge: it decreases when a thread exits
  PerSecond,  // a gauge: the difference over a window, divided by its length
  Total,      // a counter: the sum of differences since the server started
};

struct NamedFamily {
  SeriesFamily family;  // name, unit, type and help; no series yet
  double scale = 1;     // converts a figure to the unit of the family
};

// Names the family of a metric; `unit` is that of the metric, or of the key of a map. An unknown
// unit is kept. `user_hz`: clock ticks per second.
NamedFamily make_family(std::string_view metric, std::string_view unit, bool is_counter,
                        CounterForm counted, double user_hz);

// Returns a name as a label: letters, digits and _.
std::string make_label_name(std::string_view name);

}  // namespace ctprof
