// The rows that follow from the threads': processes, cgroups, the host.
//
// A process row is a distinct tgid; a cgroup row a distinct path or an ancestor of one; the host is
// one row.

#pragma once

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Fills the identity columns of the three tables. REQUIRES: a finished thread table.
void add_process_rows(Snapshot& snapshot);
void add_cgroup_rows(Snapshot& snapshot);
void add_host_row(Snapshot& snapshot);

}  // namespace ctprof
