// Finds findings about the groups of the first screen, and about the host.
//
// See also: findings.hpp (definition of a finding), cgroup_findings.hpp (findings about cgroups),
// sign_findings.hpp (findings about single threads and processes).

#pragma once

#include <vector>

#include "core/compare/report/finding.hpp"
#include "core/compare/report/report.hpp"

namespace ctprof {

// Each function adds its findings to `found`. REQUIRES: the report has a first screen.

// Finds groups that waited for a CPU, were blocked, moved data, ran more, have more threads, start
// threads continuously, or have other settings (row_findings.cc).
void find_row_findings(const Report& report, std::vector<Finding>& found);
// Finds groups whose memory grew (memory_findings.cc).
void find_memory_findings(const Report& report, std::vector<Finding>& found);
// Finds groups with many page faults or involuntary switches, and groups that stopped running
// (event_findings.cc). Findings on data that groups moved must exist.
void find_event_findings(const Report& report, std::vector<Finding>& found);
// Finds pressure on memory and disks (host_findings.cc).
void find_host_findings(const Report& report, std::vector<Finding>& found);
// Finds large values of derived metrics whose definitions have findings, such as those of plugins
// (defined_findings.cc).
void find_defined_findings(const Report& report, std::vector<Finding>& found);

}  // namespace ctprof
