// Determines whether and how this host's sleepers can be sampled, and what it lacks.

#pragma once

#include <memory>
#include <optional>

#include "ctprof/host.hpp"
#include "plugins/shared/bpf_refusal.hpp"
#include "plugins/sleepers/bpf_sampler.hpp"

namespace ctprof::sleepers {

// Returns the program, or null and the reason if the host or the kernel does not support it.
std::unique_ptr<Program> load_program(const sdk::Host& host, BpfRefusal& refusal);

// Returns why stacks cannot be read from /proc either; no value if they can. `has_extra_rights`:
// whether ctprof has rights that its user lacks.
std::optional<BpfRefusal> explain_proc_refusal(const sdk::Host& host, bool has_extra_rights);

void probe_host(const sdk::Host& host, const sdk::Probe& probe);

}  // namespace ctprof::sleepers
