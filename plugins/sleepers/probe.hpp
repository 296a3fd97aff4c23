// Whether this host's sleepers can be looked at, by what, and what it lacks.

#pragma once

#include <memory>
#include <optional>

#include "ctprof/host.hpp"
#include "plugins/shared/bpf_refusal.hpp"
#include "plugins/sleepers/bpf_looker.hpp"

namespace ctprof::sleepers {

// The program; null, and why, where the host or the kernel does not let us have it.
std::unique_ptr<Program> load_program(const sdk::Host& host, BpfRefusal& why);

// Why stacks cannot be read from /proc either; nothing: they can.
std::optional<BpfRefusal> refused_proc(const sdk::Host& host);

void probe_host(const sdk::Host& host, const sdk::Probe& probe);

}  // namespace ctprof::sleepers
