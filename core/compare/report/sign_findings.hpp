// Finds findings about single threads and processes (group_signs.hpp), stacks, and the host.
//
// See also: findings.hpp (definition of a finding), row_findings.hpp (rules on values of the first
// screen).

#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/compare/report/finding.hpp"
#include "core/compare/report/report.hpp"

namespace ctprof {

// Returns whether the value is at least `threshold` and, with several windows, at least 1.5 times
// its earlier value. False for NaN.
bool exceeds_threshold(const Report& report, double figure, double earlier, double threshold);

// Returns the median of a host value over the runs of a side (for an even number, the mean of the
// middle two). NaN values are ignored. Returns 0 without a value.
double median_of_runs(std::span<const RunFacts> runs,
                      const std::function<double(const RunFacts&)>& figure);

std::string format_finding_seconds(double seconds);  // "1.5 s"
std::string format_finding_percent(double share);    // "20 %"

// Adds these findings to `found`. REQUIRES: the report has a first screen.
void find_sign_findings(const Report& report, std::vector<Finding>& found);

}  // namespace ctprof
