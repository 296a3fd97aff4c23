// Figures as Prometheus reads them: its text format 0.0.4, or OpenMetrics 1.0.0.
//
//   # HELP ctprof_run_time_seconds_total run_time_ns ...
//   # TYPE ctprof_run_time_seconds_total counter
//   ctprof_run_time_seconds_total{pcomm="nginx"} 12.25
//
// A family is written whole. Names and units are checked by nobody here: metric_family.hpp makes
// them. Values are finite, or +Inf for a limit without bound.
//
// Not here: which figures there are (group_series.hpp), who is answered with them (tools/).

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"

namespace ctprof {

enum class SeriesType : std::uint8_t { Gauge, Counter };

struct Series {
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};

struct SeriesFamily {
  std::string name;  // without the _total of a counter
  std::string unit;  // the end of the name, in base units: "seconds"; or empty
  SeriesType type = SeriesType::Gauge;
  std::string help;
  std::vector<Series> series{};
};

enum class Exposition : std::uint8_t { Text, OpenMetrics };

// What a server says that it sends.
std::string_view content_type(Exposition form);

// The error is the sink's.
Result<void> write_exposition(std::span<const SeriesFamily> families, Exposition form, Sink& sink);

}  // namespace ctprof
