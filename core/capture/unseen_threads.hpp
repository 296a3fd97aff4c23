// Fills in threads that the lister cannot see, although it knows that they exist.
//
// Some kernels hide processes from BPF programs. A lister on such a kernel still lists the threads
// with their identity, and writes Unseen into the other cells. fill_unseen_threads() runs the
// reserve sources of the plan (Plan::reserve_sources) on a table of only those rows, and replaces
// each Unseen cell with their result. A cell that no source can fill becomes Denied, so that no
// Unseen remains.
//
// Input: the listed thread table. Output: the same table, and the cost of each reserve source. If
// no cell is Unseen, only the gaps of each column are scanned. Threads: one.

#pragma once

#include <cstdint>
#include <vector>

#include "core/registry/plan.hpp"
#include "core/registry/probed_host.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

std::vector<SourceCost> fill_unseen_threads(const Plan& plan, const ProbedHost& probed,
                                            Snapshot& snapshot, std::uint64_t clock_start);

}  // namespace ctprof
