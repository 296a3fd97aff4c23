// The figures in a line of CSV, as text.
//
// See also: report_csv.hpp (the format), csv_columns.hpp (the columns).

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/report/rows.hpp"

namespace ctprof {

// Formats a number as JSON does; empty if it is missing.
template <class Number>
std::string format_csv_number(const Number& number) {
  std::string json;
  append_json(json, number);
  return json == "null" ? "" : json;
}

// A value in two columns, one for numbers and one for text. One of them is empty.
struct CsvField {
  std::string number, text;
};

struct CsvChange {
  CsvField delta;
  std::string pct, rate;
};

// The figures in a line for a metric, or for one key of a map.
struct CsvFigures {
  std::string_view key, unit;
  bool per_second;
  std::vector<CsvField> by_side;   // by side
  std::vector<CsvChange> changes;  // of each side but the first
  std::string change{};
};

// Return the figures of one key of a map, of a function or stack, or of a whole row.
CsvFigures make_key_csv_figures(std::span<const KeyFigure> key);
CsvFigures make_weight_csv_figures(const MetricRow& row, std::string_view key,
                                   std::span<const double> sides);
CsvFigures make_row_csv_figures(const Report& report, const MetricRow& row);

}  // namespace ctprof
