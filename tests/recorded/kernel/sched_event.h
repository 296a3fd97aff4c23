/* Scheduler events, as the tracepoints report them. sched_events.bpf.c writes them, and the
 * simulated kernel replays them. */
#ifndef CTPROF_RECORDED_SCHED_EVENT_H
#define CTPROF_RECORDED_SCHED_EVENT_H

#ifndef __bpf__
#include <linux/types.h>
#endif

enum sched_kind {
  SCHED_SWITCH = 1, /* `previous` leaves the CPU, `next` gets it */
  SCHED_WAKEUP = 2, /* `next` is woken up and enqueued */
  SCHED_BIRTH = 3,  /* `next` is new and enqueued */
  SCHED_EXEC = 4    /* `next` calls exec; `why` is its previous thread id */
};

/* The fields of task_struct that the programs of off-cpu read. */
struct sched_task {
  __u32 tid; /* 0: a thread of another process, or the idle task */
  __u32 tgid;
  __u32 state; /* __state */
  __u32 flags;
  __u64 start_boottime;
  __u64 ran;         /* se.sum_exec_runtime */
  __u64 last_queued; /* sched_info.last_queued */
  __u64 queue_clock; /* clock of the run queue */
};

struct sched_event {
  __u32 kind;
  __u32 cpu;
  __u64 at; /* CLOCK_MONOTONIC */
  __u32 is_preempted;
  __u32 why; /* of SCHED_SWITCH: the state of `previous` in the tracepoint */
  struct sched_task previous;
  struct sched_task next;
};

#endif
