/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The program that the kernel runs once for each thread in a pass. For a sleeping thread it writes
 * the kernel part of the stack, and the registers at the entry into the kernel. For a thread that
 * has not run since the previous pass, the most frequent case, it writes only that fact.
 *
 * A thread leaves its CPU once per switch. Therefore a thread that is off its CPU, and has the same
 * number of switches as at the previous sample, has not run since.
 *
 * See also: sleeper_sample.bpf.h for the sample of one thread, stack_copier.cc for user stacks,
 * which are read from outside, pass_thread.cc for the schedule.
 */
#include "sleeper_sample.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by the reader before a pass. */
__u32 this_round = 0;     /* each thread is written completely at least once per round; never 0 */
__u32 only_processes = 0; /* the number of requested processes; 0: all are visited */
__u32 only_tgid = 0;      /* set by the reader: the only process that passes visit; 0: all are
                           * visited */

/* Requested processes; with their descendants if on_fork is attached. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, SAMPLE_MAX_PROCESSES);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u32);
  __type(value, __u8);
} processes SEC(".maps");

struct last_sample {
  __u64 switches;
  __u32 round;
  __u32 unused;
};
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct last_sample);
} last_samples SEC(".maps");

/* Used by one pass at a time. */
static struct sleeper_sample sample;

static __always_inline int is_selected(__u32 tgid) {
  return !only_processes || bpf_map_lookup_elem(&processes, &tgid) != 0;
}

/* Returns 0 on success. */
static __always_inline long write_sample(struct seq_file* seq, __u32 addresses) {
  _Static_assert((SAMPLE_ADDRESSES & (SAMPLE_ADDRESSES - 1)) == 0, "a mask");
  const __u32 bytes = addresses & (SAMPLE_ADDRESSES * 8 - 1);
  sample.head.size = SAMPLE_FIXED_BYTES + bytes;
  return bpf_seq_write(seq, &sample, SAMPLE_FIXED_BYTES + bytes);
}

static __always_inline int write_head(struct seq_file* seq, struct task_struct* task, __u32 flags) {
  sample.head = (struct sleeper_sample_head){sizeof sample.head, flags, task->pid, task->tgid,
                                             task->start_boottime};
  bpf_seq_write(seq, &sample.head, sizeof sample.head);
  return 0;
}

/* Distinguishes processes that were not visited from those that were always awake. */
static __always_inline int write_awake(struct seq_file* seq, struct task_struct* task) {
  return task->pid == task->tgid ? write_head(seq, task, SAMPLE_AWAKE) : 0;
}

SEC("iter/task")
int sample_thread(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task || !is_selected(task->tgid)) return 0;
  struct seq_file* seq = ctx->meta->seq;
  if (!is_asleep(task)) return write_awake(seq, task);
  if (!may_show_stack(task)) return write_head(seq, task, SAMPLE_HIDDEN);
  const __u64 switches = count_switches(task);
  struct last_sample* seen =
      bpf_task_storage_get(&last_samples, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (seen && seen->round == this_round && seen->switches == switches)
    return write_head(seq, task, SAMPLE_UNCHANGED);
  const long bytes = take_sample(&sample, task);
  if (bytes < 0) return write_awake(seq, task);
  if (write_sample(seq, bytes) != 0 || !seen) return 0;
  seen->switches = sample.switches;
  seen->round = this_round;
  return 0;
}

/* Follows a new process if its parent is followed. Its id may be that of an earlier process, which
 * was followed.
 */
SEC("tp_btf/sched_process_fork")
int on_fork(__u64* arguments) { /* the parent, the child */
  struct task_struct* parent = (struct task_struct*)arguments[0];
  struct task_struct* child = (struct task_struct*)arguments[1];
  __u32 tgid = child->tgid, parent_tgid = parent->tgid;
  const __u8 yes = 1;
  if (child->pid != child->tgid) return 0;
  if (bpf_map_lookup_elem(&processes, &parent_tgid))
    bpf_map_update_elem(&processes, &tgid, &yes, BPF_ANY);
  else
    bpf_map_delete_elem(&processes, &tgid);
  return 0;
}

/* The id is free now. */
SEC("tp_btf/sched_process_free")
int on_free(__u64* arguments) { /* the thread */
  struct task_struct* task = (struct task_struct*)arguments[0];
  __u32 tgid = task->tgid;
  if (task->pid == task->tgid) bpf_map_delete_elem(&processes, &tgid);
  return 0;
}
