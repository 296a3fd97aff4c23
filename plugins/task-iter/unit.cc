// Compiles all sources of plugins/task-iter as one translation unit.

#include "plugins/task-iter/columns.cc"
#include "plugins/task-iter/context.cc"
#include "plugins/task-iter/decode.cc"
#include "plugins/task-iter/exit_input.cc"
#include "plugins/task-iter/exited_threads.cc"
#include "plugins/task-iter/names.cc"
#include "plugins/task-iter/pass.cc"
#include "plugins/task-iter/probe.cc"
#include "plugins/task-iter/read_ahead.cc"
#include "plugins/task-iter/ring.cc"
#include "plugins/task-iter/thread_lister.cc"
