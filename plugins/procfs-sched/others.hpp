// What /proc keeps from us of other users' processes, as lacks with their remedy.
//
// The io files want CAP_SYS_PTRACE, and CAP_DAC_READ_SEARCH for their mode of 0400; smaps_rollup
// the first alone. A /proc that is mounted with hidepid does not even show processes that we may
// not trace.

#pragma once

#include "ctprof/host.hpp"

namespace ctprof::procfs {

void tell_of_closed_threads(const sdk::Host& host, const sdk::Probe& probe);
void tell_of_closed_processes(const sdk::Host& host, const sdk::Probe& probe);

}  // namespace ctprof::procfs
