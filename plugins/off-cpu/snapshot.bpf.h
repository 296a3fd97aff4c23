/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* What a pass over all threads writes for each: its state with its stack if it waits, the number of
 * its events, or only its process.
 */
#ifndef CTPROF_OFF_CPU_SNAPSHOT_BPF_H
#define CTPROF_OFF_CPU_SNAPSHOT_BPF_H

#include "stack.bpf.h"

static struct off_snapshot_histograms full_snapshot;

/* Copies the state of a thread. Returns whether the copy is consistent. */
static __always_inline int try_copy(struct off_thread* to, struct off_thread* thread) {
  volatile __u32* version = &thread->version;
  const __u32 before = *version;
  barrier();
  __builtin_memcpy(to, thread, sizeof *to);
  barrier();
  return (before & 1) == 0 && *version == before;
}

/* Copies the state of a thread, with a few attempts at a consistent copy. This is not a loop,
 * because kernels before Linux 6.12 reject it. */
static __always_inline void copy_thread(struct off_thread* to, struct off_thread* thread) {
  if (try_copy(to, thread) || try_copy(to, thread) || try_copy(to, thread) || try_copy(to, thread))
    return;
  try_copy(to, thread);
}

/* Copies the histograms of the thread whose state was copied. If its state changed meanwhile,
 * copies both again. */
static __always_inline void copy_histograms(struct task_struct* task, struct off_thread* thread) {
  struct off_snapshot_histograms* out = &full_snapshot;
  struct off_histogram_pair* of = find_histograms(task);
  volatile __u32* version = &thread->version;
  out->is_known = of != 0;
  if (!of) return;
  bpf_probe_read_kernel(&out->histograms, sizeof out->histograms, of);
  if (*version == out->snapshot.thread.version) return;
  copy_thread(&out->snapshot.thread, thread);
  bpf_probe_read_kernel(&out->histograms, sizeof out->histograms, of);
}

static __always_inline void write_snapshot(struct bpf_iter__task* ctx, struct task_struct* task) {
  struct off_thread* thread = find_thread(task);
  struct off_snapshot* out = &full_snapshot.snapshot;
  if (!thread || thread->state == OFF_EXITED) return;
  copy_identity(&out->identity, task);
  copy_thread(&out->thread, thread);
  if (has_histograms) copy_histograms(task, thread);
  out->place.kernel_bytes = 0;
  out->place.has_user = 0;
  if (out->thread.state < OFF_WAIT_STATES && may_show_stack(task)) {
    copy_user_place(&out->place, task);
    out->place.kernel_bytes =
        bpf_get_task_stack(task, out->place.kernel, sizeof out->place.kernel, 0);
  }
  if (has_histograms)
    bpf_seq_write(ctx->meta->seq, &full_snapshot, sizeof full_snapshot);
  else
    bpf_seq_write(ctx->meta->seq, out, sizeof *out);
}

static __always_inline void write_check(struct bpf_iter__task* ctx, struct task_struct* task) {
  struct off_thread* thread = find_thread(task);
  struct off_check out = {};
  if (!thread) return;
  copy_identity(&out.identity, task);
  out.events = thread->events;
  bpf_seq_write(ctx->meta->seq, &out, sizeof out);
}

static __always_inline void write_process_id(struct bpf_iter__task* ctx, struct task_struct* task) {
  struct off_check out = {};
  if (task->pid != task->tgid) return;
  copy_identity(&out.identity, task);
  bpf_seq_write(ctx->meta->seq, &out, sizeof out);
}

#endif
