// All sources of tools/ctprof/plugin, which are compiled as one.

#include "tools/ctprof/plugin/new.cc"
#include "tools/ctprof/plugin/plugin.cc"
#include "tools/ctprof/plugin/scaffold.cc"
