// What this host lacks for looking into other processes.

#pragma once

#include "ctprof/host.hpp"

namespace ctprof::jemalloc {

void probe_host(const sdk::Host& host, const sdk::Probe& probe);

}  // namespace ctprof::jemalloc
