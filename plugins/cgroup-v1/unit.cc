// Compiles all sources of the library of plugins/cgroup-v1 as one translation unit.

#include "plugins/cgroup-v1/cpu_bandwidth.cc"
#include "plugins/cgroup-v1/cpu_hierarchy.cc"
