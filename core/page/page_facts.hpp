// Appends the sections of a report's page other than its rows: the sides, differences of hosts and
// settings, metrics without values with reasons, and lost data. Each function appends one section
// of HTML.

#pragma once

#include <span>
#include <string>

#include "core/compare/report/report.hpp"

namespace ctprof {

void append_sides(std::string& out, const Report& report, std::span<const std::string> files);
void append_missing_metrics(std::string& out, const Report& report);
void append_lost_data(std::string& out, const Report& report);

}  // namespace ctprof
