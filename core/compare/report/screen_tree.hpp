// Orders rows of cgroups as a tree: the descendants of a cgroup follow its row.
//
// Siblings are ordered by the largest score in their subtrees, ties by name. If a cgroup has no
// row, its descendants follow the nearest ancestor with a row, or are at the top level.

#pragma once

#include <vector>

#include "core/compare/grouping/grouping.hpp"
#include "core/compare/report/screen.hpp"

namespace ctprof {

// Reorders the rows, and sets their depths and parents. REQUIRES: groups are cgroup paths.
void arrange_as_tree(std::vector<ScreenRow>& rows, const Grouping& grouping);

}  // namespace ctprof
