// Compiles all sources of plugins/sleepers as one translation unit.

#include "plugins/sleepers/bpf_sampler.cc"
#include "plugins/sleepers/kernel_symbols.cc"
#include "plugins/sleepers/pass.cc"
#include "plugins/sleepers/pass_thread.cc"
#include "plugins/sleepers/probe.cc"
#include "plugins/sleepers/proc_sampler.cc"
#include "plugins/sleepers/sample_input.cc"
#include "plugins/sleepers/stack_copier.cc"
#include "plugins/sleepers/tally.cc"
