// The conditions of --where, once it is known what their names are: of threads, or of groups.
//
// What is here:   which are about what, and what is wrong with one.
// What is not:    which threads (grouping/kept_threads.hpp) and groups (report/group_choice.hpp)
// they leave.

#pragma once

#include <span>
#include <vector>

#include "core/compare/asked/where.hpp"
#include "core/compare/figures/metric_plan.hpp"

namespace ctprof {

struct SortedWhere {
  std::vector<Condition> threads{};
  std::vector<Condition> groups{};
};

// The error names what no file holds, and offers the nearest, or what has no place in a condition.
Result<SortedWhere> sort_out(const Where& where, std::span<const Snapshot* const> sides,
                             const MetricPlan& plan);

}  // namespace ctprof
