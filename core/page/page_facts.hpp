// What a report's page says besides its rows: the sides, how their hosts and settings differ, what
// was not measured and why, and what was lost. Each appends a section of HTML.

#pragma once

#include <span>
#include <string>

#include "core/compare/report/report.hpp"

namespace ctprof {

void append_sides(std::string& out, const Report& report, std::span<const std::string> files);
void append_not_measured(std::string& out, const Report& report);
void append_lost(std::string& out, const Report& report);

}  // namespace ctprof
