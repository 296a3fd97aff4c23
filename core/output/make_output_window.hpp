// Makes the window that output plugins receive from a report of one side.
//
// It has a table of the groups, with the metrics of threads, processes and cgroups, and a table of
// the host. With `Spec::entity`, it has one table of the rows of that entity. Each key of a map is
// a column. Groups in which no metric applies have no row.

#pragma once

#include <cstddef>

#include "core/compare/report/report.hpp"
#include "core/output/output_window.hpp"

namespace ctprof {

struct OutputChoice {
  bool all_metrics = false;    // instead of those of the first screen (is_exported)
  std::size_t max_values = 0;  // of all tables; 0: no limit
};

// Beyond `max_values`, the rows with the smallest share of any metric are omitted, and counted in
// `omitted_rows`. REQUIRES: a report of one side.
OutputWindow make_output_window(const Report& report, const OutputChoice& choice);

}  // namespace ctprof
