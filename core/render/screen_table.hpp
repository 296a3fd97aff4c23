// Builds the table of the first screen, with the columns that fit.
//
// A row is a group with its threads and a figure of each headline. For several windows, each figure
// is shown as "12.3→45.6", and an extra column names the headline with the largest change. If the
// table is too wide, columns are omitted, last those that order the rows. The change in the column
// of the largest change, and the numbers of started and exited threads, are omitted before that
// column. Names are shortened in the middle.
//
// Columns without any known figure are omitted.
//
// See also: screen_text.hpp (the selection of rows, and the lines about omitted data).

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/report/report.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

struct ScreenTableText {
  std::string text;             // empty if there are no rows
  std::string omitted_threads;  // the thread counts that were omitted because the terminal is too
                                // narrow, in words
  std::vector<std::string> omitted_columns;  // labels of the columns that were omitted because the
                                             // terminal is too narrow
  bool has_marks = false;                    // figures that order rows are followed by kMark
};

inline constexpr std::string_view kOrderMark = "*";

// Builds the table of the first `rows` rows. REQUIRES: report.screen().
ScreenTableText format_screen_table(const Report& report, std::size_t rows,
                                    const TextLayout& layout);
// Builds the table of these rows, in this order. REQUIRES: rows of report.screen(), or copies of
// them.
ScreenTableText format_screen_table(const Report& report, std::span<const ScreenRow> rows,
                                    const TextLayout& layout);

}  // namespace ctprof
