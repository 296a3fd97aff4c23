// Writes figures for Prometheus: its text format 0.0.4, or OpenMetrics 1.0.0.
//
//   # HELP ctprof_run_time_seconds_total run_time_ns ...
//   # TYPE ctprof_run_time_seconds_total counter
//   ctprof_run_time_seconds_total{pcomm="nginx"} 12.25
//
// A family is written in one piece. Names and units are not checked here: metric_family.hpp makes
// them. Values are finite, or +Inf for an unlimited limit.
//
// See also: group_series.hpp (the selection of figures), tools/ (the server).

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"

namespace ctprof {

enum class SeriesType : std::uint8_t {
  Gauge,
  Counter,
  Histogram,       // cumulative buckets, which only grow: the last label, `le`, is their limit
  GaugeHistogram,  // the same for a period of time
};

struct Series {
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};

struct SeriesFamily {
  std::string name;  // without the _total of a counter
  std::string unit;  // the suffix of the name, in base units: "seconds"; or empty
  SeriesType type = SeriesType::Gauge;
  std::string help;
  std::vector<Series> series{};
  std::size_t own_labels = 0;  // labels at the end of each series that do not identify its group
};

enum class ExpositionFormat : std::uint8_t { Text, OpenMetrics };

// Returns the content type that a server announces.
std::string_view get_content_type(ExpositionFormat form);

// Fails only if the sink fails.
Result<void> write_exposition(std::span<const SeriesFamily> families, ExpositionFormat form,
                              Sink& sink);

}  // namespace ctprof
