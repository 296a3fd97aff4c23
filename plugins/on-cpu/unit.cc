// Compiles all sources of plugins/on-cpu as one translation unit.

#include "plugins/on-cpu/cpus.cc"
#include "plugins/on-cpu/event.cc"
#include "plugins/on-cpu/kernel_walk.cc"
#include "plugins/on-cpu/own_process_filter.cc"
#include "plugins/on-cpu/probe.cc"
#include "plugins/on-cpu/record_writer.cc"
#include "plugins/on-cpu/records.cc"
#include "plugins/on-cpu/ring.cc"
#include "plugins/on-cpu/sampler.cc"
#include "plugins/on-cpu/tick_clock.cc"
