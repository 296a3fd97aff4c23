// Whether this host lets us follow its threads, and what it lacks.

#pragma once

#include "ctprof/host.hpp"
#include "plugins/shared/bpf_refusal.hpp"

namespace ctprof::off_cpu {

// Why the kernel does not take the programs, and what would change that.
BpfRefusal refusal(const sdk::Host& host, int error);

// Cheap: loads no more than a program of two instructions.
void probe_host(const sdk::Host& host, const sdk::Probe& probe);

}  // namespace ctprof::off_cpu
