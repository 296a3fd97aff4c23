/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Records where a thread waited: the kernel part of its stack, the user-space registers, and the
 * top of the user stack.
 */
#ifndef CTPROF_OFF_CPU_STACK_BPF_H
#define CTPROF_OFF_CPU_STACK_BPF_H

#include "plugins/shared/own_user.bpf.h"
#include "thread.bpf.h"

enum { kStackRingBytes = 16 << 20 };

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, kStackRingBytes);
} stacks SEC(".maps");

/* All other records. A separate ring, so that sums of exited threads are not lost when there are
 * many stacks. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 16 << 20);
} other_records SEC(".maps");

/* The leaf of the stack of a resuming thread contains frames of this program and of its callers;
 * the reader removes them (tracing_frames.hpp). Only if it cannot name functions, the program skips
 * this number of frames. The kernel skips the scheduler's own functions by itself, as for sleeping
 * threads. In a kprobe they are present, and the program has no frames of its own. */
const volatile __u32 own_frames = 0;
enum { kSchedulerFrames = 3 };

enum { kThreadSize = 16 << 10 };         /* of a kernel stack on x86-64 */
enum { kCode32 = 0x23, kMode32 = 0x10 }; /* user space of 32 bits */

static __always_inline void* user_registers(struct task_struct* task) {
  if (has_user_registers) return (void*)bpf_task_pt_regs(task);
  return task_field(task, stack) + kThreadSize - bpf_core_type_size(struct pt_regs);
}

static __always_inline void copy_registers(struct off_stack_place* place,
                                           struct task_struct* task) {
  struct pt_regs* x86 = user_registers(task);
  struct pt_regs___arm64* arm = (void*)x86;
  __u64 mode = 0;
  if (bpf_core_field_exists(x86->ip)) {
    place->ip = BPF_CORE_READ(x86, ip);
    place->sp = BPF_CORE_READ(x86, sp);
    place->bp = BPF_CORE_READ(x86, bp);
    place->lr = BPF_CORE_READ(x86, di);
    mode = BPF_CORE_READ(x86, cs);
    place->has_user = mode != kCode32;
  } else {
    place->ip = BPF_CORE_READ(arm, pc);
    place->sp = BPF_CORE_READ(arm, sp);
    bpf_core_read(&place->bp, sizeof place->bp, &arm->regs[29]);
    bpf_core_read(&place->lr, sizeof place->lr, &arm->regs[30]);
    mode = BPF_CORE_READ(arm, pstate);
    place->has_user = (mode & kMode32) == 0;
  }
}

/* Returns whether the kernel created the thread for its own use. This includes workers of io_uring,
 * although they belong to a process. */
static __always_inline int is_kernel_worker(struct task_struct* task) {
  return (task_field(task, flags) & (PF_KTHREAD | PF_IO_WORKER)) != 0;
}

/* Copies the user-space registers. A kernel thread has none. Other workers that belong to a
 * process, such as those of vhost, have user-space registers that are all zero. */
static __always_inline void copy_user_place(struct off_stack_place* place,
                                            struct task_struct* task) {
  struct mm_struct* memory = 0;
  place->memory = place->code = place->ip = place->sp = place->bp = place->lr = 0;
  place->has_user = 0;
  if (is_kernel_worker(task)) return;
  bpf_core_read(&memory, sizeof memory, &task->mm);
  if (!memory) return;
  place->memory = (__u64)memory;
  place->code = BPF_CORE_READ(memory, exec_vm);
  copy_registers(place, task);
  if (place->ip != 0 || place->sp != 0) return;
  place->memory = place->code = 0;
  place->has_user = 0;
}

/* Copies the top of the current thread's stack, up to the first page that is not in memory. Returns
 * the number of pieces. */
static __always_inline __u32 copy_user_stack(__u8* buffer, __u64 sp, const __u32 max_pieces) {
  const __u64 start_address = sp & ~(OFF_PIECE - 1ull);
#pragma unroll
  for (__u32 i = 0; i < max_pieces; ++i)
    if (bpf_probe_read_user(buffer + i * OFF_PIECE, OFF_PIECE,
                            (void*)(start_address + i * OFF_PIECE)) != 0)
      return i;
  return max_pieces;
}

/* Fills in everything except the user stack. */
static __always_inline void fill_stack(struct off_stack* out, void* breakpoint,
                                       struct task_struct* task, struct off_thread* thread,
                                       __u64 now, __u64 weight) {
  out->kind = OFF_STACK;
  out->window = thread->window;
  out->origin = thread->origin;
  copy_identity(&out->identity, task);
  out->at = now;
  out->weight = weight;
  copy_user_place(&out->place, task);
  const __u32 capacity = sizeof out->place.kernel;
  out->place.kernel_bytes = 0;
  if (breakpoint)
    out->place.kernel_bytes =
        bpf_get_stack(breakpoint, out->place.kernel, capacity, kSchedulerFrames);
  else if (has_task_storage)
    out->place.kernel_bytes = bpf_get_task_stack(task, out->place.kernel, capacity, own_frames);
  out->pieces = out->unused = 0;
}

/* Writes a stack with a copy of the user part. REQUIRES: `max_pieces` is constant. */
static __always_inline void write_copied_stack(void* breakpoint, struct task_struct* task,
                                               struct off_thread* thread, __u64 now, __u64 weight,
                                               const __u32 max_pieces) {
  struct off_stack* out =
      bpf_ringbuf_reserve(&stacks, OFF_STACK_WITHOUT_USER + max_pieces * OFF_PIECE, 0);
  if (!out) return count(OFF_LOST_STACKS);
  fill_stack(out, breakpoint, task, thread, now, weight);
  if (out->place.has_user)
    out->pieces = copy_user_stack((__u8*)out + OFF_STACK_WITHOUT_USER, out->place.sp, max_pieces);
  bpf_ringbuf_submit(out, BPF_RB_NO_WAKEUP);
}

/* Writes the stack of a thread that resumes, if one is due. Stacks that do not fit remain in the
 * thread's sums. */
static __always_inline void write_stack(void* breakpoint, struct task_struct* task,
                                        struct off_thread* thread, int is_large) {
  const __u64 weight = thread->due_weight;
  const __u64 now = bpf_ktime_get_ns();
  thread->due_weight = 0;
  if (thread->window == 0 || thread->window != window_number_at(now)) return;
  if (!may_show_stack(task)) return; /* its weight remains in the thread's sums */
  count(OFF_DUE_STACKS);
  if (is_kernel_worker(task)) {
    struct off_stack* out = bpf_ringbuf_reserve(&stacks, OFF_STACK_WITHOUT_USER, 0);
    if (!out) return count(OFF_LOST_STACKS);
    fill_stack(out, breakpoint, task, thread, now, weight);
    bpf_ringbuf_submit(out, BPF_RB_NO_WAKEUP);
  } else if (is_large) {
    write_copied_stack(breakpoint, task, thread, now, weight, OFF_LARGE_PIECES);
  } else {
    write_copied_stack(breakpoint, task, thread, now, weight, OFF_PIECES);
  }
}

#endif
