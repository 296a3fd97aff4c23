// Rows of cgroups as a tree: below each row those of its descendants, as far as they are rows.
//
// Siblings are in the order of the largest score in their subtrees, ties by name. A cgroup that is
// no row has no place in the tree: what is below it stands below the next row above, or at the top.

#pragma once

#include <vector>

#include "core/compare/grouping/grouping.hpp"
#include "core/compare/report/screen.hpp"

namespace ctprof {

// Puts the rows in that order and sets their depths and parents. REQUIRES: groups are paths.
void arrange_as_tree(std::vector<ScreenRow>& rows, const Grouping& grouping);

}  // namespace ctprof
