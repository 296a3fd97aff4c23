// Compiles all sources of plugins/taskstats as one translation unit.

#include "plugins/taskstats/decode.cc"
#include "plugins/taskstats/exited_threads.cc"
#include "plugins/taskstats/probe.cc"
#include "plugins/taskstats/socket.cc"
