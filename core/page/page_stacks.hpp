// Where the time of the page's groups went: for each group and metric of stacks a flame graph, of
// two sides a differential one, and the functions that weigh most. A section of HTML.
//
// As many as `room` bytes hold, at most so many groups, in the order in which their rows come; what
// has no place is counted.

#pragma once

#include <cstddef>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/page/page_rows.hpp"

namespace ctprof {

void append_stacks(std::string& out, const Report& report, const PageRows& rows, std::size_t room);

}  // namespace ctprof
