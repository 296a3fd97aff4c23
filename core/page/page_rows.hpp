// Selects the rows of a report's page: each has a group, a metric, and figures that can be sorted
// and drawn.
//
// For windows, the rows are the headlines of the first screen, unless there is no first screen or
// all figures are requested. Otherwise they are the metrics of the report's sections. Rows whose
// figure is zero or below the floor of its headline on every side are omitted and counted.
//
// Order: significant rows come first, rows without a test last; if no row is significant, they are
// ordered by their unadjusted p. Then by the share of the row's change (for one side: its figure)
// in the host's total, largest first; ties by name.
//
// See also: report_page.cc (the output of a row).

#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/compare/report/report.hpp"

namespace ctprof {

struct PageRow {
  RowPosition at{};
  std::string group;   // printable
  std::string metric;  // printable: a headline's label, or the metric's name
  std::string unit;
  std::vector<double> sides;              // by side; NaN: unknown, or not a number
  std::vector<std::string> texts;         // the same as text
  std::vector<std::vector<double>> runs;  // by side, for each run; empty if there is only one run
  double share = 0;                       // 0 to 1; NaN: unknown
  std::optional<RowTestResult> test_result;  // remove_floor(), for several runs; none: not tested
  bool is_insignificant = false;             // for several runs: not significant
  bool is_new = false, is_gone = false;      // only the second or the first side has the group

  // A shift is a factor, so there is none if either side is zero or unknown.
  bool has_shift() const {
    return test_result && !std::isnan(test_result->shift) && sides[1] != 0 && !std::isnan(sides[1]);
  }
  bool is_significant() const { return test_result && test_result->is_significant; }

  // Returns the difference between the second side and the first; NaN if it is unknown.
  double get_change() const;
  // Returns the change as a fraction of the first side's figure.
  double get_relative_change() const;
};

struct PageRows {
  std::vector<PageRow> rows;
  std::size_t groups = 0;         // groups that have a row
  std::size_t quiet_figures = 0;  // figures below the floors
  bool are_tested = false;
  bool have_test_figures = false;  // tested rows have the means of RowTestResult as figures
  std::vector<PageRow> about{};    // the rows of the groups of --about
};

// Without `details`, the page of a window has only the columns of the screen.
PageRows make_page_rows(const Report& report, bool details);

}  // namespace ctprof
