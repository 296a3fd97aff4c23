// Finds findings about cgroups that the host's values name: throttled, or out of memory.
//
// See also: findings.hpp (definition of a finding), window/host_load.hpp (the values).

#pragma once

#include <vector>

#include "core/compare/report/finding.hpp"
#include "core/compare/report/report.hpp"

namespace ctprof {

// Adds at most two findings for each rule to `found`; the second counts the other cgroups.
// REQUIRES: the report has a first screen.
void find_cgroup_findings(const Report& report, std::vector<Finding>& found);

}  // namespace ctprof
