/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The program that the kernel runs once for each thread in a pass: of one that sleeps it writes the
 * kernel's part of the stack, and the registers with which it went into the kernel. Of one that has
 * not run since, which most have not, it writes only that.
 *
 * A thread is off its CPU as often as it was switched out. So one that is off its CPU, and has been
 * switched out as often as when it was looked at last, has not run since.
 *
 * What is here:   who is looked at, and what is known of the look before.
 * What is not:    one look (look.bpf.h), user stacks, which are read from outside (copier.cc); who
 * keeps the time (watch.cc).
 */
#include "look.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by the reader before a pass. */
__u32 this_round = 0;     /* a thread is written whole once in each at least; never 0 */
__u32 only_processes = 0; /* how many were requested; 0: all are looked at */
__u32 only_tgid = 0;      /* the reader's: the one process that passes visit; 0: all are visited */

/* Processes that are requested; with those that they fork, and theirs, where see_fork is attached.
 */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, LOOK_MOST_PROCESSES);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u32);
  __type(value, __u8);
} processes SEC(".maps");

struct seen {
  __u64 switches;
  __u32 round;
  __u32 unused;
};
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct seen);
} looked SEC(".maps");

/* Of the one pass that there is at a time. */
static struct look out;

static __always_inline int is_wanted(__u32 tgid) {
  return !only_processes || bpf_map_lookup_elem(&processes, &tgid) != 0;
}

/* 0: it is written. */
static __always_inline long write(struct seq_file* seq, __u32 addresses) {
  _Static_assert((LOOK_ADDRESSES & (LOOK_ADDRESSES - 1)) == 0, "a mask");
  const __u32 bytes = addresses & (LOOK_ADDRESSES * 8 - 1);
  out.head.size = LOOK_FIXED + bytes;
  return bpf_seq_write(seq, &out, LOOK_FIXED + bytes);
}

static __always_inline int write_head(struct seq_file* seq, struct task_struct* task, __u32 flags) {
  out.head =
      (struct look_head){sizeof out.head, flags, task->pid, task->tgid, task->start_boottime};
  bpf_seq_write(seq, &out.head, sizeof out.head);
  return 0;
}

/* So that who was met in no way can be told from who was always awake. */
static __always_inline int write_awake(struct seq_file* seq, struct task_struct* task) {
  return task->pid == task->tgid ? write_head(seq, task, LOOK_AWAKE) : 0;
}

SEC("iter/task")
int look(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task || !is_wanted(task->tgid)) return 0;
  struct seq_file* seq = ctx->meta->seq;
  if (!is_asleep(task)) return write_awake(seq, task);
  if (!may_show_stack(task)) return write_head(seq, task, LOOK_CLOSED);
  const __u64 switches = switches_of(task);
  struct seen* seen = bpf_task_storage_get(&looked, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (seen && seen->round == this_round && seen->switches == switches)
    return write_head(seq, task, LOOK_AGAIN);
  const long bytes = take_look(&out, task);
  if (bytes < 0) return write_awake(seq, task);
  if (write(seq, bytes) != 0 || !seen) return 0;
  seen->switches = out.switches;
  seen->round = this_round;
  return 0;
}

/* A new process is followed if its parent is. Its id may have been that of another one, which was.
 */
SEC("tp_btf/sched_process_fork")
int see_fork(__u64* arguments) { /* the parent, the child */
  struct task_struct* parent = (struct task_struct*)arguments[0];
  struct task_struct* child = (struct task_struct*)arguments[1];
  __u32 tgid = child->tgid, from = parent->tgid;
  const __u8 yes = 1;
  if (child->pid != child->tgid) return 0;
  if (bpf_map_lookup_elem(&processes, &from))
    bpf_map_update_elem(&processes, &tgid, &yes, BPF_ANY);
  else
    bpf_map_delete_elem(&processes, &tgid);
  return 0;
}

/* Nobody has its id any more. */
SEC("tp_btf/sched_process_free")
int see_free(__u64* arguments) { /* the thread */
  struct task_struct* task = (struct task_struct*)arguments[0];
  __u32 tgid = task->tgid;
  if (task->pid == task->tgid) bpf_map_delete_elem(&processes, &tgid);
  return 0;
}
