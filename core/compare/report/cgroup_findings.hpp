// Finds findings about cgroups: throttled ones, and those that ran out of memory.
//
// See also: findings.hpp (definition of a finding), window/host_load.hpp (the values).

#pragma once

#include <string>
#include <vector>

#include "core/compare/report/finding.hpp"
#include "core/compare/report/report.hpp"

namespace ctprof {

// Adds at most two findings for each rule to `found`; the second counts the other cgroups.
// REQUIRES: the report has a first screen.
void find_cgroup_findings(const Report& report, std::vector<Finding>& found);

// Returns the throttled cgroups that these findings name or count, the largest first.
std::vector<std::string> list_throttled_cgroups(const Report& report);

}  // namespace ctprof
