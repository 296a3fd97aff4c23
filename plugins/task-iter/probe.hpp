// What this host's kernel lacks for a pass, or in its records: found by loading the program and
// reading the record of one thread, ourselves.
//
// What is here:   every refusal, with its sentence, and what is the same for all threads.
// What is not:    loading and reading (pass.hpp).

#pragma once

#include <cstdint>

#include "ctprof/host.hpp"
#include "plugins/task-iter/columns.hpp"

namespace ctprof::task_iter {

// Whether the host has what a pass needs, as far as files tell.
bool may_have_pass(const sdk::Host& host);
void probe_host(const sdk::Host& host, const sdk::Probe& probe);
// The same for a source that needs nothing but the pass and thread pointers; whether they are
// there.
bool probe_pointers(const sdk::Host& host, const sdk::Probe& probe);

// Online CPUs and the like. How many words a set of CPUs has is the size of `online`.
Facts facts_of(const sdk::Host& host);

}  // namespace ctprof::task_iter
