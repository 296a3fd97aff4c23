// Formats the section `stacks`: for each metric and group a table of functions, and one of stacks,
// leaf first.
//
// Each function or stack shows its percentage of the group's total, and its value in the unit of
// the metric. Waits have one table, of waits from the view of the application (merged_waits.hpp):
//
//   4.20s  98.6%  handle_get → pthread_mutex_lock (futex) ← serve ← main
//
// Several sides share one cell, "10.0→15.0"; the largest change comes first. If functions are
// tested, a change that is not significant has a ~ before it, and all have their p.
//
// See also: compare/report/stack_section.hpp (the selection of rows), stacks_json.hpp.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/compare/report/report.hpp"
#include "core/compare/report/rows.hpp"
#include "core/render/stack_line.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// Formats the section; empty if there are no stacks. Idle waits are counted, and shown if
// `shows_idle`; groups with only idle waits are counted too. `rows`: limit for groups, and for
// functions and stacks of each, 0: all; nothing: small defaults.
std::string format_stacks(const Report& report, const TextLayout& layout,
                          const std::optional<std::size_t>& rows, bool shows_idle = false);

// Returns "70.1%", or "10.0→15.0%" for several sides; "-" for a side without a value.
std::string format_stack_shares(std::span<const double> parts, std::span<const double> wholes);
// Returns the change of a function's self weight, such as "+1.5ms/s"; with --shares that of its
// share of the group, such as "+4.0pp". One that was tested and is not significant has a ~.
std::string format_function_change(const Report& report, const StackGroup& group,
                                   const FunctionRow& row);
// Returns the smallest p of the function's changes; empty if none was tested.
std::string format_function_p(const FunctionRow& row);

}  // namespace ctprof
