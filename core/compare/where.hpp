// --where: which threads are grouped, and which groups are told.
//
// A condition is about threads if its names are metrics of threads. It is about groups if they are
// `threads`, `group`, or what a group alone has: metrics of processes and cgroups, derived ones,
// thread_count. What && joins at the top counts as a condition each, and all must hold. Those on
// threads come first, so a group's figures are those of the threads that are left. Under compare a
// group stays whole when the condition holds on either side, so that exchanging the files changes
// nothing.
//
// What is here:   reading the conditions, finding what they are about, and which threads they
// leave. What is not:    which groups (group_choice.hpp); how a condition is decided
// (expression/condition.hpp).

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/expression/condition.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct MetricPlan;

struct Where {
  std::vector<Condition> conditions{};
};

// Adds to those that must hold. The error says what is wrong with the text alone.
Result<void> add_condition(Where& where, std::string_view text);

// The same, once it is known what its names are.
struct SortedWhere {
  std::vector<Condition> threads{};
  std::vector<Condition> groups{};
};

// The error names what no file holds, and offers the nearest, or what has no place in a condition.
Result<SortedWhere> sort_out(const Where& where, std::span<const Snapshot* const> sides,
                             const MetricPlan& plan);

// By row of a side's threads, whether it stays; empty where all do.
using Kept = std::vector<bool>;

// One for each side. REQUIRES: conditions on threads.
std::vector<Kept> kept_threads(std::span<const Snapshot* const> sides,
                               std::span<const Condition> conditions);

// "--where keeps 3 of 12 threads of the baseline and 4 of 13 of the candidate"; empty where it
// keeps all.
std::string kept_in_words(std::span<const Kept> kept);

}  // namespace ctprof
