// Compiles all sources of plugins/jemalloc-ptrace as one translation unit.

#include "plugins/jemalloc-ptrace/counter_reader.cc"
#include "plugins/jemalloc-ptrace/heap_helper.cc"
#include "plugins/jemalloc-ptrace/heap_reader.cc"
#include "plugins/jemalloc-ptrace/heap_server.cc"
#include "plugins/jemalloc-ptrace/interruptible.cc"
#include "plugins/jemalloc-ptrace/mounts.cc"
#include "plugins/jemalloc-ptrace/outcome.cc"
#include "plugins/jemalloc-ptrace/probe.cc"
#include "plugins/jemalloc-ptrace/program.cc"
#include "plugins/jemalloc-ptrace/summary.cc"
#include "plugins/jemalloc-ptrace/thread_pointer_reader.cc"
