// Compiles all sources of plugins/off-cpu as one translation unit.

#include "plugins/off-cpu/handover.cc"
#include "plugins/off-cpu/memory.cc"
#include "plugins/off-cpu/own_frames.cc"
#include "plugins/off-cpu/probe.cc"
#include "plugins/off-cpu/programs.cc"
#include "plugins/off-cpu/sums.cc"
#include "plugins/off-cpu/waits.cc"
