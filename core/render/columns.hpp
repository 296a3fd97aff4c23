// The columns of the tables of show and compare, and the user's choice of them (--columns and
// --display-format), checked before any file is opened.
//
// Not here: the cells (report_lines.cc).

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

enum class ReportColumn : std::uint8_t {
  Group,
  Threads,
  Metric,
  Tags,
  Baseline,
  Candidate,
  Arrow,  // both in one
  Value,  // of the only side
  Delta,
  Percent,
  Rate,     // under --rate
  OfWhich,  // what new and gone threads made of the difference
  Life,     // per second of life, of snapshots of different boots
  Uptime,
  Shift,  // with its interval, of sides of several runs
  P,
  Runs,  // how many have a value, of sides of several
  Readings,
  SortedBy,  // the metric that rows are sorted by; it is added automatically and cannot be named
};

struct ColumnChoice {
  std::vector<ReportColumn> columns;
  bool exact = false;  // the user's own list: no column is added or left out

  bool has(ReportColumn column) const;
};

ColumnChoice default_columns(ReportKind kind);
// "full", "delta-only", "no-pct", "arrow" or "pct-only".
Result<ColumnChoice> parse_display_format(std::string_view word);
// Parses "group,delta". Upper and lower case are the same. Empty and unknown entries and duplicates
// are errors, and so is `arrow` together with baseline or candidate.
Result<ColumnChoice> parse_columns(std::string_view text, ReportKind kind);

// What both take, in the order of their tables.
std::vector<std::string> column_words(ReportKind kind);
std::vector<std::string> display_format_words();

// The header of the column, and how it is laid out.
TextColumn text_column(ReportColumn column);

}  // namespace ctprof
