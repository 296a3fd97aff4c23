// Threads that the lister knows to be there and cannot see: their cells come as Unseen, and the
// next offers fill them.
//
// A source that lists may be blind for some threads: some kernels hide processes from BPF programs.
// It lists them all the same, with what it knows (who they are), and writes Unseen elsewhere. Here
// the sources that the plan has in reserve (Plan::unseen) are run on a table of those rows alone,
// and each cell that is Unseen becomes what they say. One for which there is nobody becomes Denied.
// No Unseen is left.
//
// In: the thread table as it was listed. Out: the same, filled, and what each source in reserve
// cost. Where nothing is Unseen, it costs a look at each column's gaps. Used by one thread.

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
