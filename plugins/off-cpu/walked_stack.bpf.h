/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Walks the user part of a stack when the thread resumes (plugins/shared/user_walk.bpf.h), instead
 * of copying the top of the stack.
 *
 * A resuming thread may be preempted during the program. The kernel does not run the program again
 * on this CPU until it is finished, so the CPU's scratch space has one user at a time.
 */
#ifndef CTPROF_OFF_CPU_WALKED_STACK_BPF_H
#define CTPROF_OFF_CPU_WALKED_STACK_BPF_H

#include "stack.bpf.h"

#include "plugins/shared/user_walk.bpf.h"

enum { CODE_64 = 0x33 }; /* user space of 64 bits */
const volatile __u32 walk_depth = OFF_FRAMES;

/* If the record does not fit, the file is requested again. */
static __always_inline void send_miss(struct walk_scratch* scratch, struct task_struct* task) {
  struct off_miss* out = bpf_ringbuf_reserve(&other_records, sizeof *out, 0);
  if (!out) {
    bpf_map_delete_elem(&walk_files, &scratch->miss.file);
    return;
  }
  out->kind = OFF_MISS;
  out->tgid = task->tgid;
  __builtin_memcpy(&out->miss, &scratch->miss, sizeof out->miss);
  bpf_ringbuf_submit(out, BPF_RB_NO_WAKEUP);
}

/* Returns 0 if the walk gave up. */
static __always_inline __u32 walk_user_stack(struct walk_scratch* scratch,
                                             struct task_struct* task) {
  struct mm_struct___walk* memory = ((struct task_struct___walk*)task)->mm;
  struct pt_regs* registers = user_registers(task);
  if (!memory || BPF_CORE_READ(registers, cs) != CODE_64) return 0;
  const __u32 tag =
      walk_stack(scratch, memory, BPF_CORE_READ(registers, ip), BPF_CORE_READ(registers, sp),
                 BPF_CORE_READ(registers, bp), walk_depth);
  if (tag == 0 && scratch->has_miss) send_miss(scratch, task);
  return tag;
}

static __always_inline void fill_walked_stack(struct off_stack* out, struct walk_scratch* scratch,
                                              struct task_struct* task, struct off_thread* thread,
                                              __u64 now, __u64 weight) {
  fill_stack(out, 0, task, thread, now, weight);
  out->kind = OFF_WALKED_STACK;
  out->pieces = scratch->walk.frames;
}

/* Returns 0 if the stack must be copied. */
static __always_inline int send_walked_stack(struct task_struct* task, struct off_thread* thread,
                                             __u64 now, __u64 weight) {
  struct walk_scratch* scratch = walk_scratch();
  const __u32 tag = scratch ? walk_user_stack(scratch, task) : 0;
  if (tag == 0) return 0;
  if (scratch->walk.frames <= OFF_FRAMES) {
    struct off_stack* out = bpf_ringbuf_reserve(&stacks, OFF_WALKED_BYTES, 0);
    if (!out) return count(OFF_LOST_STACKS), 1;
    fill_walked_stack(out, scratch, task, thread, now, weight);
    out->unused = tag == WALK_DEEP_STACK;
    bpf_probe_read_kernel(out->user, 8 * (OFF_FRAMES + 1), scratch->words);
    bpf_ringbuf_submit(out, BPF_RB_NO_WAKEUP);
  } else {
    struct off_stack* out = bpf_ringbuf_reserve(&stacks, sizeof *out, 0);
    if (!out) return count(OFF_LOST_STACKS), 1;
    fill_walked_stack(out, scratch, task, thread, now, weight);
    out->unused = tag == WALK_DEEP_STACK;
    bpf_probe_read_kernel(out->user, 8 * (WALK_MAX_FRAMES + 1), scratch->words);
    bpf_ringbuf_submit(out, BPF_RB_NO_WAKEUP);
  }
  return 1;
}

/* Returns whether stacks may be copied in full. A full ring would lose stacks, so copies are small
 * as soon as the reader falls behind. */
static __always_inline int may_copy_large_stacks(void) {
  enum { kMaxUnreadBytes = kStackRingBytes / 4 };
  return bpf_ringbuf_query(&stacks, BPF_RB_AVAIL_DATA) < kMaxUnreadBytes;
}

/* Like write_stack, with a walked user part. Few walks give up, so their stacks may have large
 * copies: of a program's first stacks, whose unwind table does not exist yet, and of code that no
 * table describes. */
static __always_inline void write_walked_stack(struct task_struct* task,
                                               struct off_thread* thread) {
  const __u64 weight = thread->due_weight;
  const __u64 now = bpf_ktime_get_ns();
  if (thread->window != 0 && thread->window == window_number_at(now) && may_show_stack(task) &&
      !is_kernel_worker(task) && send_walked_stack(task, thread, now, weight)) {
    count(OFF_DUE_STACKS);
    thread->due_weight = 0;
    return;
  }
  write_stack(0, task, thread, may_copy_large_stacks());
}

#endif
