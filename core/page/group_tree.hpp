// Builds the tree of a flame graph from a group's stacks: of one side, or of two that are compared.
//
// Functions are those of the common stacks, so both sides share them. For a side with several runs,
// the weight of a frame is its mean over the runs: medians of single stacks would be zero, because
// most stacks occur in few runs. If several windows are reported together, weights are per second.

#pragma once

#include "core/compare/report/report.hpp"
#include "core/flame/flame_tree.hpp"

namespace ctprof {

// REQUIRES: report.stacks(), and a metric whose stacks are reported.
FlameTree make_group_tree(const Report& report, RowPosition at);

}  // namespace ctprof
