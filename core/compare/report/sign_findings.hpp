// Findings of single threads and processes (group_signs.hpp), of stacks, and of the host.
//
// See also: findings.hpp (what a finding is), findings.cc (rules over figures of the first screen).

#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/compare/report/findings.hpp"

namespace ctprof {

// Whether the figure is at least that, and of several windows 1.5 times what it was. False of NaN.
bool is_finding(const Report& report, double figure, double was, double least);

// The median of a figure of the host over the runs of a side (of an even number the mean of the two
// in the middle); NaN values are left out. 0 without a value.
double median_of_runs(std::span<const RunFacts> runs,
                      const std::function<double(const RunFacts&)>& figure);

std::string seconds_in_words(double seconds);  // "1.5 s"
std::string percent_in_words(double share);    // "20 %"

// Adds them. REQUIRES: the report has a first screen.
void find_by_signs(const Report& report, std::vector<Finding>& found);

}  // namespace ctprof
