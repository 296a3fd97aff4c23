// The rows that follow from the threads: one process per distinct tgid; one cgroup per distinct
// path, and one per ancestor; one host. Here they get their identity columns.

#pragma once

#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// REQUIRES: the thread table has its rows and their identity. Other columns of processes become
// Untouched.
void add_process_rows(Snapshot& snapshot);
void add_cgroup_rows(Snapshot& snapshot);
void add_host_row(Snapshot& snapshot);

}  // namespace ctprof
