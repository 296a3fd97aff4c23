// Computes the figures of a row of the first screen as text and page show them.
//
//   sides with several runs   if the row is tested, and one side is compared with another: the
//                             figures whose difference is the shift (RowTestResult::baseline_mean
//                             and candidate_mean)
//   otherwise                 medians of several runs
//
// Blocked time is shown per thread, because its sum over sleeping threads is too large to be
// readable. If the sides of a tested row have different numbers of threads, it is the sum over all
// threads, because the shift is, too.

#pragma once

#include <vector>

#include "core/compare/report/report.hpp"

namespace ctprof {

struct DisplayedFigures {
  std::vector<double> sides;    // in the unit of the screen; NaN if unknown
  std::vector<double> divisor;  // by side: the divisor of the figure of all threads
  bool is_tested = false;       // figures of a tested row
};

// REQUIRES: a row of report.screen(), or a copy of one.
DisplayedFigures compute_displayed_figures(const Report& report, const ScreenRow& row,
                                           std::size_t column);

}  // namespace ctprof
