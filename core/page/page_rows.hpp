// The rows of a report's page: a group and a metric each, with figures that can be sorted and
// drawn.
//
// Of windows they are the headlines of the first screen, unless it is not there or all figures are
// wanted; else the metrics of the report's sections, as they are told. Rows that say nothing,
// because the figure is zero or below its headline's floor on every side, stay out and are counted.
//
// Order: what is proven first, and what was never tested last; where nothing is proven, by the p
// that a row has by itself; then by the share of the host's total that the row's change (of one
// side: its figure) comes to, largest first; ties by name.
//
// Not here: how a row is written (report_page.cc).

#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/compare/report/report.hpp"

namespace ctprof {

struct PageRow {
  RowAt at{};
  std::string group;   // printable
  std::string metric;  // printable: a headline's label, or the metric's name
  std::string unit;
  std::vector<double> sides;              // by side; NaN: not known, or no number
  std::vector<std::string> told;          // the same in words
  std::vector<std::vector<double>> runs;  // by side, of each run; empty where there is only one
  double share = 0;                       // 0 to 1; NaN: not known
  std::optional<Proof> proof;             // without_floor(), of several runs; none: never tested
  bool in_doubt = false;                  // of such sides, and not proven

  // Shifts are factors: there is none from nothing, or to it.
  bool has_shift() const { return proof && !std::isnan(proof->shift) && sides[1] != 0; }
  bool is_proven() const { return proof && proof->proven; }

  // From the first side to the second; NaN where that is not known.
  double change() const;
  // The same as a fraction of the first side's.
  double relative() const;
};

struct PageRows {
  std::vector<PageRow> rows;
  std::size_t groups = 0;  // that have a row
  std::size_t quiet = 0;   // figures below the floors
  bool are_judged = false;
  bool are_pairs = false;        // judged rows have the figures of Proof::before and after
  std::vector<PageRow> about{};  // the rows of the groups of --about
};

// `details`: every metric, also of windows.
PageRows page_rows(const Report& report, bool details);

}  // namespace ctprof
