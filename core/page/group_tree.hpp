// A group's stacks as the tree that a flame graph draws: of one side, or of two that are compared.
//
// Functions are those of the stack book, so both sides share them. Of a side of several runs a
// frame weighs what it has in the mean of the runs: medians of single stacks, most of which few
// runs have, would be zero. Where windows are told together, weights are per second.

#pragma once

#include "core/compare/report/report.hpp"
#include "core/flame/flame_tree.hpp"

namespace ctprof {

// REQUIRES: report.stacks(), and a metric whose stacks are told.
FlameTree group_tree(const Report& report, RowAt at);

}  // namespace ctprof
