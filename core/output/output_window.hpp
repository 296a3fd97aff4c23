// A window as output plugins receive it: tables of groups with the definitions of their metrics.
// These types own their data; ctprof/output.h describes the meaning of each member.
//
// See also: make_output_window.hpp (from a report), window_bytes.hpp (as bytes), window_view.hpp
// (as the structs of ctprof/output.h).

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ctprof/output.h"

namespace ctprof {

struct OutputLabel {
  std::string name, value;
  bool operator==(const OutputLabel&) const = default;
};

struct OutputMetric {
  ctprof_output_metric_flags flags = 0;
  std::string name;
  std::string key;  // of a map; empty: the metric is not a map
  std::string unit;
  std::string family;
  std::string entity;
  std::vector<OutputLabel> key_labels{};  // that the metric declares for its keys
  bool operator==(const OutputMetric&) const = default;
};

struct OutputRow {
  std::vector<std::string> labels;
  std::vector<ctprof_output_cell> cells;
};

struct OutputTable {
  std::vector<std::string> label_names;
  std::vector<OutputMetric> metrics;
  std::vector<OutputRow> rows;
};

struct OutputWindow {
  ctprof_output_window_flags flags = 0;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t length_ns = 0;
  std::uint64_t dropped_before = 0;
  std::uint64_t omitted_rows = 0;
  std::uint32_t user_hz = 0;
  std::string host;
  std::string producer;
  std::vector<OutputTable> tables;
};

}  // namespace ctprof
