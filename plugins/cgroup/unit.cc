// Compiles all sources of plugins/cgroup as one translation unit.

#include "plugins/cgroup/files.cc"
#include "plugins/cgroup/formats.cc"
