// Determines what this host's kernel lacks for a pass, or in its records, by loading the program
// and reading the record of ctprof itself. Contains every refusal with its message.
//
// See also: pass.hpp for loading and reading.

#pragma once

#include <cstdint>

#include "ctprof/host.hpp"
#include "plugins/task-iter/columns.hpp"

namespace ctprof::task_iter {

void probe_host(const sdk::Host& host, const sdk::Probe& probe);
// Does the same for a source that only needs the pass and thread pointers. Returns whether they are
// available.
bool probe_pointers(const sdk::Host& host, const sdk::Probe& probe);

// Returns online CPUs and other facts. The number of words in a set of CPUs is the size of
// `online_cpus`.
HostFacts read_host_facts(const sdk::Host& host);

}  // namespace ctprof::task_iter
