// --where: which threads are grouped, and which groups are told.
//
// A condition is about threads if its names are metrics of threads. It is about groups if they are
// `threads`, `group`, or what a group alone has: metrics of processes and cgroups, derived ones,
// thread_count. What && joins at the top counts as a condition each, and all must hold. Those on
// threads come first, so a group's figures are those of the threads that are left. Under compare a
// group stays whole when the condition holds on either side, so that exchanging the files changes
// nothing.
//
// What is here:   reading the conditions.
// What is not:    what they are about (figures/sorted_where.hpp), which threads and groups they
// leave (grouping/kept_threads.hpp, report/group_choice.hpp), how one is decided
// (expression/condition.hpp).

#pragma once

#include <string_view>
#include <vector>

#include "core/expression/condition.hpp"

namespace ctprof {

struct Where {
  std::vector<Condition> conditions{};
};

// Adds to those that must hold. The error says what is wrong with the text alone.
Result<void> add_condition(Where& where, std::string_view text);

}  // namespace ctprof
