// Fills in threads that the lister knows to exist but cannot see.
//
// Some kernels hide processes from BPF programs. A lister that is affected lists the threads all
// the same, with their identity, and writes Unseen into the other cells. fill_unseen() runs the
// sources that the plan keeps in reserve (Plan::unseen) on a table of those rows alone, and
// replaces each Unseen cell with what they say. A cell that no source can fill becomes Denied, so
// no Unseen remains.
//
// In: the listed thread table. Out: the same table, and what each reserve source cost. If nothing
// is Unseen, the cost is one look at each column's gaps. Threads: one.

#pragma once

#include <cstdint>
#include <vector>

#include "core/registry/plan.hpp"
#include "core/registry/probed.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

std::vector<SourceCost> fill_unseen(const Plan& plan, const Probed& probed, Snapshot& snapshot,
                                    std::uint64_t clock_start);

}  // namespace ctprof
