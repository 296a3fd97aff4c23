// Compiles all sources of plugins/sleepers as one translation unit.

#include "plugins/sleepers/bpf_looker.cc"
#include "plugins/sleepers/copier.cc"
#include "plugins/sleepers/kernel_names.cc"
#include "plugins/sleepers/look_input.cc"
#include "plugins/sleepers/pass.cc"
#include "plugins/sleepers/probe.cc"
#include "plugins/sleepers/proc_looker.cc"
#include "plugins/sleepers/tally.cc"
#include "plugins/sleepers/watch.cc"
