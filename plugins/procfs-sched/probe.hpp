// What this host's /proc lacks, found by looking at one thread that exists.
//
// A missing file or key is refused here once, with the kernel option or switch that would bring it.
// So a file that is missing later went away with its thread. Permission is not probed, as it may be
// there for some threads and not for others; what /proc keeps closed to ctprof of other users'
// processes is reported as a lack, with its remedy.

#pragma once

#include "ctprof/host.hpp"

namespace ctprof::procfs {

void probe_threads(const sdk::Host& host, const sdk::Probe& probe);
void probe_processes(const sdk::Host& host, const sdk::Probe& probe);

}  // namespace ctprof::procfs
