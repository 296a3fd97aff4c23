// Defines the columns of the tables of show and compare, and parses the user's choice of them
// (--columns and --display-format) before any file is opened.
//
// See also: report_lines.cc (the cells).

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/request/spec.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

enum class ReportColumn : std::uint8_t {
  Group,
  Threads,
  Metric,
  Tags,
  Baseline,
  Candidate,
  Arrow,  // baseline and candidate in one column
  Value,  // value of the only side
  Delta,
  Percent,
  Rate,          // under --rate
  ChangeOrigin,  // the parts of the difference from started and exited threads
  PerLife,       // per second of lifetime, for snapshots of different boots
  Uptime,
  Shift,  // with its interval, for sides with several runs
  P,
  Runs,  // number of runs with a value, for sides with several runs
  Readings,
  SortedBy,  // the metric that sorts the rows; it is added automatically and cannot be named
};

struct ColumnChoice {
  std::vector<ReportColumn> columns;
  bool is_user_list = false;  // the user's own list: no column is added or omitted

  bool contains(ReportColumn column) const;
};

ColumnChoice get_default_columns(ReportKind kind);
// "full", "delta-only", "no-pct", "arrow" or "pct-only".
Result<ColumnChoice> parse_display_format(std::string_view word);
// Parses "group,delta". Upper and lower case are the same. Empty and unknown entries and duplicates
// are errors, and so is `arrow` together with baseline or candidate.
Result<ColumnChoice> parse_columns(std::string_view text, ReportKind kind);

// Return the words that these functions accept, in the order of their tables.
std::vector<std::string> get_column_words(ReportKind kind);
std::vector<std::string> get_display_format_words();

// Returns the header and the layout of a column.
TextColumn make_text_column(ReportColumn column);

}  // namespace ctprof
