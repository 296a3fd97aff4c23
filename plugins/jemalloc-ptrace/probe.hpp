// Determines what this host lacks for reading other processes.

#pragma once

#include "ctprof/host.hpp"

namespace ctprof::jemalloc {

void probe_host(const sdk::Host& host, const sdk::Probe& probe);

// For every source that reads the memory of other processes, by ptrace or without: refuses all
// metrics if no process may do so until the next boot, and reports whose memory ctprof may not
// read.
void probe_permissions(const sdk::Host& host, const sdk::Probe& probe);

}  // namespace ctprof::jemalloc
