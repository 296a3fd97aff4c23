// Which threads a BPF scheduler (sched_ext) is in charge of: while one is loaded, those whose
// scheduling class is the kernel's for that.
//
// Only then is the kernel asked where that class is, and once: that takes a program of its own, a
// millisecond, and leave to be told addresses.
//
// What is here:   the state of the host, and the class.
// What is not:    what a thread's record says (decode.hpp), sentences for people (probe.cc).

#pragma once

#include <cstdint>

#include "ctprof/batch.hpp"
#include "ctprof/host.hpp"

namespace ctprof::task_iter {

// Whether the kernel can have BPF schedulers at all.
bool has_extensible_class(const sdk::Host& host);

// Where the class is; 0 while no scheduler is loaded. Denied: the kernel keeps addresses from us;
// Unsupported: it does not know the name.
sdk::Reading<std::uint64_t> extensible_class(const sdk::Host& host);

}  // namespace ctprof::task_iter
