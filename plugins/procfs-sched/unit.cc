// Compiles all sources of plugins/procfs-sched as one translation unit.

#include "plugins/procfs-sched/sched.cc"
#include "plugins/procfs-sched/smaps_rollup.cc"
#include "plugins/procfs-sched/stat.cc"
#include "plugins/procfs-sched/status.cc"
#include "plugins/procfs-sched/summary.cc"
#include "plugins/procfs-sched/thread_files.cc"
