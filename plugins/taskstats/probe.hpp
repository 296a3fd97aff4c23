// What this host's taskstats lack, found by asking for one thread that exists: ourselves.
//
// Rights, the version of the struct and the switches are the same for all threads, so that all of
// this is settled here, once. What a kernel was built without shows as a zero that cannot be one:
// we were put on a CPU, and have memory.

#pragma once

#include "ctprof/host.hpp"

namespace ctprof::taskstats {

void probe_host(const sdk::Host& host, const sdk::Probe& probe);

// Whether delay accounting may have been switched on while threads ran already, who are not
// accounted for then. It may not when the kernel was started with it, and kernels before 5.14 have
// no switch.
bool was_switched_on_later(const sdk::Host& host);

}  // namespace ctprof::taskstats
