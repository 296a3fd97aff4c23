// What this host lacks for looking into other processes.

#pragma once

#include "ctprof/host.hpp"

namespace ctprof::jemalloc {

void probe_host(const sdk::Host& host, const sdk::Probe& probe);

// What is the same for whoever reads the memory of others, by ptrace or without: refuses all where
// nobody may until the next boot, and tells whose memory stays closed to us.
void probe_rights(const sdk::Host& host, const sdk::Probe& probe);

}  // namespace ctprof::jemalloc
