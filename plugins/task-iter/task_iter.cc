// task-iter: lists the threads and reads most of their metrics, in one pass through the kernel's
// own list.
//
// Source: a BPF program that the kernel runs for each thread (iter/task), which copies some hundred
// bytes of task_struct and of structures that it points to. Files are opened only for the names of
// kernel threads, and one for each cgroup. The values are those of procfs-sched and taskstats, at a
// twentieth of the cost and all within milliseconds; those sources fill what this one cannot.
//
// Contents: the plugin's table for builds without the code that finds jemalloc; heap.cc has the
// table for builds with it.
// See also: thread_lister.hpp for the source, task_iter.bpf.c for the program.

#include "plugins/task-iter/context.hpp"
#include "plugins/task-iter/exited_threads.hpp"
#include "plugins/task-iter/thread_lister.hpp"

CTPROF_PLUGIN_WITH("task-iter", "1.0",
                   "Every thread and most of its metrics, in one pass of a BPF program over the "
                   "kernel's list of threads.",
                   ctprof::task_iter::kExtra, ctprof::task_iter::ThreadLister,
                   ctprof::task_iter::ExitedThreads)
