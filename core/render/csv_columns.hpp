// The columns of a report as CSV, and the conditions on which some of them exist.
//
// See also: report_csv.hpp (the format), csv_figures.hpp (the figures of a line).

#pragma once

#include <string>
#include <vector>

#include "core/compare/report/report.hpp"

namespace ctprof {

// Returns the names in the order of the fields.
std::vector<std::string> list_csv_columns(const Report& report);

// Returns whether a group has three names: cgroup, process and thread.
bool has_three_keys(const Report& report);
// Returns whether the report shows the changes over one window.
bool shows_window(const Report& report);
// Returns the names of the labels of all maps of the report, sorted. Each has a column after the
// others, such as "label.device".
std::vector<std::string> list_csv_labels(const Report& report);
// Returns whether a column marks the rows that --fail-on matches.
bool has_failed_column(const Report& report);

}  // namespace ctprof
