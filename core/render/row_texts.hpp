// Texts of the sides of one row: origins, changes, coverages and numbers of runs.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/figures/change.hpp"
#include "core/compare/report/report.hpp"

namespace ctprof {

// Joins the texts of all sides with an arrow, or returns only one if all are equal.
std::string join_with_arrow(const std::vector<std::string>& texts);

// Returns the parts of a difference from started and exited threads; empty if there are none.
std::string format_origin(const std::optional<DifferenceOrigin>& origin, std::string_view unit);

// Returns the change of a value that is not a difference: " (+4.000KiB)" for a gauge, " (new)" if
// it did not exist at the opening. A peak does not belong to the window alone.
std::string format_change_in_window(OpeningState beginning, const Difference& change,
                                    std::string_view unit);
std::string format_change_in_window(const SideFigure& figure, const PlannedMetric& metric);

// Returns the coverage; empty if the values cover the whole group.
std::string format_coverages(const MetricRow& row);

// Returns how many runs have a value.
std::string format_run_counts(const MetricRow& row);

}  // namespace ctprof
