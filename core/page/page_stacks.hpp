// Appends a section of HTML about call stacks: for each group and metric of stacks a flame graph (a
// differential one for two sides), and the functions with the largest weights.
//
// It contains as many groups as fit into `max_bytes`, at most kMaxGroups, in the order of their
// rows; the others are counted.

#pragma once

#include <cstddef>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/page/page_rows.hpp"

namespace ctprof {

void append_stacks(std::string& out, const Report& report, const PageRows& rows,
                   std::size_t max_bytes);

}  // namespace ctprof
