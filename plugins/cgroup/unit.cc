// All sources of plugins/cgroup, which are compiled as one.

#include "plugins/cgroup/files.cc"
#include "plugins/cgroup/formats.cc"
