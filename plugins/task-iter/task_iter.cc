// task-iter: who the threads are, and nearly all that is known of them, in one pass through the
// kernel's own list.
//
// Source: a BPF program that the kernel runs for each thread (iter/task), which copies some hundred
// bytes of task_struct and of what hangs on it. No file is opened for a thread but to learn the
// names of kernel threads, and one for each cgroup. The figures are those of procfs-sched and
// taskstats, at a twentieth of the cost and all within milliseconds; those sources fill what this
// one cannot.
//
// What is here:   the plugin's table, where the code that finds jemalloc was not built;
// heap.cc has the one where it was. What is not:    the source (tasks.cc), the program
// (task_iter.bpf.c).

#include "plugins/task-iter/context.hpp"
#include "plugins/task-iter/ends.hpp"
#include "plugins/task-iter/tasks.hpp"

CTPROF_PLUGIN_WITH(
    "task-iter", "1.0",
    "Every thread and most of its figures in one pass of a BPF program over the kernel's list.",
    ctprof::task_iter::kExtra, ctprof::task_iter::Tasks, ctprof::task_iter::Ends)
