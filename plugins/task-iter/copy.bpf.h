/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Copies fields of task_struct into a record. The program that lists threads and the one for exited
 * threads share this code. It computes nothing; computations are in user space, where they can be
 * tested.
 *
 * Pointers are followed by reading memory (bpf_core_read), not as trusted pointers of the verifier,
 * because the search through all of the kernel's types takes the verifier four times as long as
 * everything else in loading.
 */
#ifndef CTPROF_TASK_ITER_COPY_H
#define CTPROF_TASK_ITER_COPY_H

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "record.h"

enum { kKernelThread = 0x00200000 }; /* PF_KTHREAD of linux/sched.h */

/* Size of a buffer for the delays, which are read as one block and then decoded in place. */
enum { kDelaysBufferSize = 1024 };

static __always_inline void copy_identity(struct record* out, struct task_struct* task) {
  out->tid = task->pid;
  out->tgid = task->tgid;
  bpf_core_read(out->comm, sizeof out->comm, &task->comm);
  out->start_boottime = task->start_boottime;
  out->nr_threads = task->pid == task->tgid ? BPF_CORE_READ(task, signal, nr_threads) : 0;
}

static __always_inline void copy_scheduling(struct record* out, struct task_struct* task) {
  out->flags = task->flags;
  out->state = task->__state;
  out->exit_state = task->exit_state;
  out->policy = task->policy;
  out->prio = task->prio;
  out->static_prio = task->static_prio;
  out->rt_priority = task->rt_priority;
  out->cpu = task->thread_info.cpu;
  out->nr_migrations = task->se.nr_migrations;
  bpf_core_read(&out->sched_class, sizeof out->sched_class, &task->sched_class);
  if (bpf_core_field_exists(task->se.slice)) {
    out->features |= RECORD_HAS_SLICE;
    out->slice = task->se.slice;
  }
}

static __always_inline void copy_times(struct record* out, struct task_struct* task) {
  out->min_flt = task->min_flt;
  out->maj_flt = task->maj_flt;
  out->nvcsw = task->nvcsw;
  out->nivcsw = task->nivcsw;
  out->utime = task->utime;
  out->stime = task->stime;
  out->sum_exec_runtime = task->se.sum_exec_runtime;
  if (bpf_core_field_exists(task->prev_cputime.utime)) {
    out->features |= RECORD_HAS_PREV_CPUTIME;
    out->prev_utime = task->prev_cputime.utime;
    out->prev_stime = task->prev_cputime.stime;
  }
  if (bpf_core_field_exists(task->sched_info.pcount)) {
    out->features |= RECORD_HAS_SCHED_INFO;
    out->pcount = task->sched_info.pcount;
    out->run_delay = task->sched_info.run_delay;
  }
  if (bpf_core_field_exists(task->sched_info.max_run_delay)) {
    out->features |= RECORD_HAS_SCHED_INFO_EXTREMES;
    out->max_run_delay = task->sched_info.max_run_delay;
    out->min_run_delay = task->sched_info.min_run_delay;
  }
}

/* Copies times in progress that are not yet accounted. The timestamps come from the clocks of the
 * run queue, which stand still between its events. Therefore they are compared with these clocks,
 * and never with monotonic time. A sleeping thread has no time in progress, regardless of its
 * timestamp: a thread that goes to sleep may stay queued for a while (DELAY_DEQUEUE, since Linux
 * 6.12), and a move to another CPU sets the timestamp. */
static __always_inline void copy_in_progress(struct record* out, struct task_struct* task) {
  struct rq* queue = 0;
  __u64 clock = 0, timestamp = 0;
  out->now_boottime = bpf_ktime_get_boot_ns();
  if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(queue->clock_task)) return;
  out->features |= RECORD_HAS_IN_PROGRESS;
  out->run_in_progress = out->wait_in_progress = 0;
  queue = BPF_CORE_READ(task, se.cfs_rq, rq);
  if (task->on_cpu) {
    bpf_core_read(&clock, sizeof clock, &queue->clock_task);
    timestamp = task->se.exec_start;
    if (clock > timestamp) out->run_in_progress = clock - timestamp;
  } else if (task->__state == 0 && bpf_core_field_exists(task->sched_info.last_queued)) {
    bpf_core_read(&clock, sizeof clock, &queue->clock);
    timestamp = task->sched_info.last_queued;
    if (timestamp != 0 && clock > timestamp) out->wait_in_progress = clock - timestamp;
  }
}

static __always_inline void copy_io(struct record* out, struct task_struct* task) {
  if (!bpf_core_field_exists(task->ioac.rchar) || !bpf_core_field_exists(task->ioac.read_bytes))
    return;
  out->features |= RECORD_HAS_IO;
  out->rchar = task->ioac.rchar;
  out->wchar = task->ioac.wchar;
  out->syscr = task->ioac.syscr;
  out->syscw = task->ioac.syscw;
  out->read_bytes = task->ioac.read_bytes;
  out->write_bytes = task->ioac.write_bytes;
  out->cancelled_write_bytes = task->ioac.cancelled_write_bytes;
}

/* The value that was saved when the thread last left a CPU. It is set once in a thread's life. */
static __always_inline void copy_thread_pointer(struct record* out, struct task_struct* task) {
  struct task_struct___aarch64* aarch64_task = (void*)task;
  if (bpf_core_field_exists(task->thread.fsbase)) {
    out->features |= RECORD_HAS_THREAD_POINTER;
    out->thread_pointer = task->thread.fsbase;
  } else if (bpf_core_field_exists(aarch64_task->thread.uw.tp_value)) {
    out->features |= RECORD_HAS_THREAD_POINTER;
    bpf_core_read(&out->thread_pointer, sizeof out->thread_pointer,
                  &aarch64_task->thread.uw.tp_value);
  }
}

#define COPY_DELAY(info, slot, kind)                       \
  do {                                                     \
    out->delays[slot].count = (info)->kind##_count;        \
    out->delays[slot].total = (info)->kind##_delay;        \
    if (bpf_core_field_exists((info)->kind##_delay_max)) { \
      out->delays[slot].max = (info)->kind##_delay_max;    \
      out->delays[slot].min = (info)->kind##_delay_min;    \
    }                                                      \
  } while (0)

static __always_inline void copy_delays(struct record* out, struct task_struct* task,
                                        char* buffer) {
  struct task_delay_info* info = 0;
  if (!bpf_core_field_exists(task->delays)) return;
  out->features |= RECORD_HAS_DELAYS;
  if (bpf_core_field_exists(info->blkio_delay_max)) out->features |= RECORD_HAS_DELAY_EXTREMES;
  if (bpf_core_field_exists(info->wpcopy_delay)) out->features |= RECORD_HAS_WPCOPY;
  if (bpf_core_field_exists(info->irq_delay)) out->features |= RECORD_HAS_IRQ;
  if (bpf_core_field_exists(((struct rq*)0)->prev_irq_time)) out->features |= RECORD_HAS_IRQ_TIME;
  bpf_core_read(&info, sizeof info, &task->delays);
  if (!info) return;
  if (bpf_probe_read_kernel(buffer, bpf_core_type_size(struct task_delay_info), info) != 0) return;
  out->properties |= RECORD_OF_DELAYS;
  info = (struct task_delay_info*)buffer;
  COPY_DELAY(info, RECORD_BLKIO, blkio);
  COPY_DELAY(info, RECORD_SWAPIN, swapin);
  COPY_DELAY(info, RECORD_FREEPAGES, freepages);
  COPY_DELAY(info, RECORD_THRASHING, thrashing);
  COPY_DELAY(info, RECORD_COMPACT, compact);
  if (bpf_core_field_exists(info->wpcopy_delay)) COPY_DELAY(info, RECORD_WPCOPY, wpcopy);
  if (bpf_core_field_exists(info->irq_delay)) COPY_DELAY(info, RECORD_IRQ, irq);
}

#define COPY_STATISTIC(field) out->field = task->stats.field

static __always_inline void copy_statistics(struct record* out, struct task_struct* task) {
  if (!bpf_core_field_exists(task->stats.nr_wakeups)) return;
  out->features |= RECORD_HAS_STATISTICS;
  COPY_STATISTIC(nr_wakeups);
  COPY_STATISTIC(nr_wakeups_local);
  COPY_STATISTIC(nr_wakeups_remote);
  COPY_STATISTIC(nr_wakeups_sync);
  COPY_STATISTIC(nr_wakeups_migrate);
  COPY_STATISTIC(nr_wakeups_affine);
  COPY_STATISTIC(nr_wakeups_affine_attempts);
  COPY_STATISTIC(nr_forced_migrations);
  COPY_STATISTIC(nr_failed_migrations_affine);
  COPY_STATISTIC(nr_failed_migrations_running);
  COPY_STATISTIC(nr_failed_migrations_hot);
  COPY_STATISTIC(wait_sum);
  COPY_STATISTIC(wait_count);
  COPY_STATISTIC(wait_max);
  COPY_STATISTIC(sum_sleep_runtime);
  COPY_STATISTIC(sleep_max);
  COPY_STATISTIC(sum_block_runtime);
  COPY_STATISTIC(block_max);
  COPY_STATISTIC(iowait_sum);
  COPY_STATISTIC(iowait_count);
  COPY_STATISTIC(exec_max);
  COPY_STATISTIC(slice_max);
  if (bpf_core_field_exists(task->stats.core_forceidle_sum)) {
    out->features |= RECORD_HAS_FORCEIDLE;
    COPY_STATISTIC(core_forceidle_sum);
  }
}

#endif
