// The table of the first screen, with the columns that fit.
//
// A row is a group with its threads and a figure of each headline; of several windows each figure
// is told as "12.3→45.6", and a column of its own names the headline that moved most. The columns
// that decided which row comes first are the last to go for width; before what moved most goes, its
// change does, and the threads that were born and ended. Names lose their middle.
//
// Columns of which nothing is known are left out.
//
// Not here: which rows are told, and what is said of those that are not (screen_text.hpp).

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
  std::string text;               // empty without rows
  std::string threads_gone;       // what of the threads went for width, in words
  std::vector<std::string> gone;  // labels of the columns that went for width
  bool has_marks = false;         // figures that gave rows their places have kMark behind them
};

inline constexpr std::string_view kMark = "*";

// Of the first rows. REQUIRES: report.screen().
ScreenTableText screen_table(const Report& report, std::size_t rows, const TextLayout& layout);
// Of these rows, in this order. REQUIRES: rows of report.screen(), or copies of them.
ScreenTableText screen_table(const Report& report, std::span<const ScreenRow> rows,
                             const TextLayout& layout);

}  // namespace ctprof
