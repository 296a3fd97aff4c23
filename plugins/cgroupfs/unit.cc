// All sources of plugins/cgroupfs, which are compiled as one.

#include "plugins/cgroupfs/directory.cc"
#include "plugins/cgroupfs/path.cc"
#include "plugins/cgroupfs/probe.cc"
