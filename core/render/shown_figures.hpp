// The figures of a row of the first screen as text and page show them.
//
//   of sides of several runs   where the row is judged, and one side is compared with another, the
//                              figures that its shift leads from and to (Proof::before, after), so
//                              that the shift is the difference of the figures beside it
//   otherwise                  of several runs the medians
//
// The time that threads are blocked is shown per thread, because threads that sleep add up to more
// than anybody can read; where both sides of a judged row have different numbers of threads, it is
// that of all threads, because the shift is, too.

#pragma once

#include <vector>

#include "core/compare/report/report.hpp"

namespace ctprof {

struct ShownFigures {
  std::vector<double> sides;    // in the unit of the screen; NaN where it is unknown
  std::vector<double> divisor;  // by side, what the figure of all threads was divided by
  bool is_pair = false;         // of a judged row
};

// REQUIRES: a row of report.screen(), or a copy of one.
ShownFigures shown_figures(const Report& report, const ScreenRow& row, std::size_t column);

}  // namespace ctprof
