/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Records the scheduler events of one process. Needs Linux 5.18, whose tracepoint contains the
 * state in which a thread leaves its CPU. */
#include "plugins/off-cpu/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sched_event.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile int wanted = 0; /* id of the recorded process */
__u64 lost = 0;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 16 << 20);
} events SEC(".maps");

static __always_inline void copy_task(struct sched_task* to, struct task_struct* task) {
  __builtin_memset(to, 0, sizeof *to);
  if (task->tgid != wanted) return;
  to->tid = task->pid;
  to->tgid = task->tgid;
  to->state = task->__state;
  to->flags = task->flags;
  to->start_boottime = task->start_boottime;
  to->ran = task->se.sum_exec_runtime;
  to->last_queued = task->sched_info.last_queued;
  to->queue_clock = BPF_CORE_READ(task, se.cfs_rq, rq, clock);
}

static __always_inline struct sched_event* new_event(__u32 kind, __u64 now) {
  struct sched_event* event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
  if (!event) {
    __sync_fetch_and_add(&lost, 1);
    return 0;
  }
  __builtin_memset(event, 0, sizeof *event);
  event->kind = kind;
  event->cpu = bpf_get_smp_processor_id();
  event->at = now;
  return event;
}

static __always_inline int write_event(__u32 kind, struct task_struct* task, __u32 why) {
  const __u64 now = bpf_ktime_get_ns();
  if (task->tgid != wanted) return 0;
  struct sched_event* event = new_event(kind, now);
  if (!event) return 0;
  event->why = why;
  copy_task(&event->next, task);
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
  return 0;
}

SEC("tp_btf/sched_switch")
int on_switch(__u64* arguments) { /* preempted, previous, next, state */
  struct task_struct* previous = (struct task_struct*)arguments[1];
  struct task_struct* next = (struct task_struct*)arguments[2];
  const __u64 now = bpf_ktime_get_ns();
  if (previous->tgid != wanted && next->tgid != wanted) return 0;
  struct sched_event* event = new_event(SCHED_SWITCH, now);
  if (!event) return 0;
  event->is_preempted = (__u8)arguments[0];
  event->why = (__u32)arguments[3];
  copy_task(&event->previous, previous);
  copy_task(&event->next, next);
  bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
  return 0;
}

SEC("tp_btf/sched_wakeup")
int on_wakeup(__u64* arguments) { /* task */
  return write_event(SCHED_WAKEUP, (struct task_struct*)arguments[0], 0);
}

SEC("tp_btf/sched_wakeup_new")
int on_wakeup_new(__u64* arguments) { /* task */
  return write_event(SCHED_BIRTH, (struct task_struct*)arguments[0], 0);
}

SEC("tp_btf/sched_process_exec")
int on_exec(__u64* arguments) { /* task, previous tid */
  return write_event(SCHED_EXEC, (struct task_struct*)arguments[0], (__u32)arguments[1]);
}
