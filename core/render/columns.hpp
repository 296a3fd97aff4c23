// Columns of the tables of show and compare: which there are, and what the user's words for them
// mean.
//
// What is here:   the choice, read and checked before any file is opened.
// What is not:    what stands in them (report_lines.cc).

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/render/text_table.hpp"

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
  Uptime,
  Readings,
  SortedBy,  // what the metric sorted by did; nobody's word, it comes by itself
};

struct ColumnChoice {
  std::vector<ReportColumn> columns;
  bool exact = false;  // the user's own list: nothing is added to it for being of interest, and
                       // nothing leaves for want of room

  bool has(ReportColumn column) const;
};

ColumnChoice default_columns(ReportKind kind);
// "full", "delta-only", "no-pct", "arrow" or "pct-only".
Result<ColumnChoice> parse_display_format(std::string_view word);
// "group,delta": in that order, however they are written. Empty, unknown and double entries are
// errors, and so is an arrow beside what it joins.
Result<ColumnChoice> parse_columns(std::string_view text, ReportKind kind);

// How the column stands in a table.
TextColumn text_column(ReportColumn column);

}  // namespace ctprof
