// What this host lacks for looking into other processes.

#pragma once

#include "ctprof/host.hpp"

namespace ctprof::jemalloc {

void probe_host(const sdk::Host& host, const sdk::Probe& probe);

// For every source that reads the memory of other processes, by ptrace or without: refuses all
// where no process may do so until the next boot, and reports whose memory stays closed to us.
void probe_rights(const sdk::Host& host, const sdk::Probe& probe);

}  // namespace ctprof::jemalloc
