// Compiles all sources of plugins/cgroupfs as one translation unit.

#include "plugins/cgroupfs/directory.cc"
#include "plugins/cgroupfs/path.cc"
#include "plugins/cgroupfs/probe.cc"
#include "plugins/cgroupfs/v1_lines.cc"
