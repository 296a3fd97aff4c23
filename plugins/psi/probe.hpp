// What this host's kernel cannot tell of pressure: because it was built or started without it, or
// is too old for a line.

#pragma once

#include "ctprof/host.hpp"

namespace ctprof::psi {

void probe_host(const sdk::Host& host, const sdk::Probe& probe);
void probe_cgroups(const sdk::Host& host, const sdk::Probe& probe);

}  // namespace ctprof::psi
