// Findings of single threads and processes (group_signs.hpp), of stacks, and of the host.
//
// See also: findings.hpp (what a finding is), findings.cc (rules over figures of the first screen).

#pragma once

#include <string>
#include <vector>

#include "core/compare/report/findings.hpp"

namespace ctprof {

// Whether the figure is at least that, and of several windows 1.5 times what it was. False of NaN.
bool is_finding(const Report& report, double figure, double was, double least);

std::string seconds_in_words(double seconds);  // "1.5 s"
std::string percent_in_words(double share);    // "20 %"

// Adds them. REQUIRES: the report has a first screen.
void find_by_signs(const Report& report, std::vector<Finding>& found);

}  // namespace ctprof
