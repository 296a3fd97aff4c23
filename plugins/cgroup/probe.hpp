// What no cgroup of this host can have: for want of a hierarchy, of a controller in it, or of a
// newer kernel.
//
// What one cgroup lacks and another has is told cell by cell (cgroupfs::Directory).

#pragma once

#include "ctprof/host.hpp"

namespace ctprof::cgroup {

void probe_cgroups(const sdk::Host& host, const sdk::Probe& probe);

}  // namespace ctprof::cgroup
