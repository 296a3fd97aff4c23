// The plugin's table with the source that looks into heaps; else as in task_iter.cc.

#include "plugins/task-iter/context.hpp"
#include "plugins/task-iter/ends.hpp"
#include "plugins/task-iter/heap.hpp"
#include "plugins/task-iter/tasks.hpp"

CTPROF_PLUGIN_WITH("task-iter", "1.0",
                   "Every thread and most of its figures in one pass of a BPF program over the "
                   "kernel's list; heaps without a stop.",
                   ctprof::task_iter::kExtra, ctprof::task_iter::Tasks, ctprof::task_iter::Ends,
                   ctprof::task_iter::Heap)
