// All sources of plugins/taskstats, which are compiled as one.

#include "plugins/taskstats/decode.cc"
#include "plugins/taskstats/ends.cc"
#include "plugins/taskstats/probe.cc"
#include "plugins/taskstats/socket.cc"
