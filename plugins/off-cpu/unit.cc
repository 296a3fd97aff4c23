// Compiles all sources of plugins/off-cpu as one translation unit.

#include "plugins/off-cpu/probe.cc"
#include "plugins/off-cpu/programs.cc"
#include "plugins/off-cpu/record_writer.cc"
#include "plugins/off-cpu/stack_top_reader.cc"
#include "plugins/off-cpu/sums.cc"
#include "plugins/off-cpu/tracing_frames.cc"
#include "plugins/off-cpu/waits.cc"
