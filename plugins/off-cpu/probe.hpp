// Determines whether this host allows the BPF programs that follow threads, and what it lacks.

#pragma once

#include "ctprof/host.hpp"
#include "plugins/shared/bpf_refusal.hpp"

namespace ctprof::off_cpu {

// Explains why the kernel refuses the programs, with the remedy.
BpfRefusal explain_refusal(const sdk::Host& host, int error);

// Returns whether the kernel can store histograms with each thread; also true if this is unknown.
bool can_store_histograms();

// Refuses all metrics if the programs cannot run. Cheap: loads only a program of two instructions.
void probe_host(const sdk::Host& host, const sdk::Probe& probe);

}  // namespace ctprof::off_cpu
