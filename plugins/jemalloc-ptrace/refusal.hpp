// Why a process or a thread could not be looked into, as a gap.

#pragma once

#include "ctprof/gap.hpp"
#include "ctprof/host.hpp"
#include "plugins/jemalloc-ptrace/finder/finder.hpp"

namespace ctprof::jemalloc {

// None for Attach::Found.
Gap gap_of(const Found& found);

// What it means that PTRACE_SEIZE failed. The kernel says EPERM for too little privilege, and also
// for a thread that another tracer holds or that has just ended.
Gap why_refused(const sdk::Host& host, const sdk::Thread& thread, int error);

}  // namespace ctprof::jemalloc
