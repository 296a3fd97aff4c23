/* What the scheduler did, as its tracepoints report it: written by sched_events.bpf.c, replayed by
 * the simulated kernel. */
#ifndef CTPROF_RECORDED_SCHED_EVENT_H
#define CTPROF_RECORDED_SCHED_EVENT_H

#ifndef __bpf__
#include <linux/types.h>
#endif

enum sched_kind {
  SCHED_SWITCH = 1, /* `previous` leaves the CPU, `next` gets it */
  SCHED_WAKEUP = 2, /* `next` is woken up, and is in a queue */
  SCHED_BIRTH = 3,  /* `next` is new, and is in a queue */
  SCHED_EXEC = 4    /* `next` runs another program; `why` is its thread id before */
};

/* What the programs of off-cpu read of a task_struct. */
struct sched_task {
  __u32 tid; /* 0: a thread of another process, or the idle task */
  __u32 tgid;
  __u32 state; /* __state */
  __u32 flags;
  __u64 start_boottime;
  __u64 ran;         /* se.sum_exec_runtime */
  __u64 last_queued; /* sched_info.last_queued, and ... */
  __u64 queue_clock; /* ... the clock of the queue */
};

struct sched_event {
  __u32 kind;
  __u32 cpu;
  __u64 at; /* CLOCK_MONOTONIC */
  __u32 is_preempted;
  __u32 why; /* of SCHED_SWITCH: the state in which `previous` leaves, as the tracepoint has it */
  struct sched_task previous;
  struct sched_task next;
};

#endif
