/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The program that the kernel runs once for each thread: it copies what task_struct says into a
 * record, and the record into the reader's buffer. It computes nothing: that is left to where it
 * can be tested.
 *
 * Pointers are followed by reading memory (bpf_core_read), not by the verifier's leave: that search
 * through all of the kernel's types takes it four times as long as everything else in loading.
 *
 * What is here:   the copying.
 * What is not:    what the figures mean (decode.cc), who loads and reads (pass.cc), where
 * scheduling classes are (ext_class.bpf.c).
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "record.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by the reader before a pass. */
__u32 only_tgid = 0; /* 0: every process */
__u32 cpu_words = 0; /* how many words of the set of CPUs are wanted */

/* The process of the thread before, 0 at first: threads of a process come one after the other,
 * mostly share memory and cgroup, and what the record says of these is then right already. */
__u32 last_tgid = 0;
static struct mm_struct* last_memory;
static struct css_set* last_cgroups;

/* Of the one pass that there is at a time. The delays are read in one piece, and taken apart where
 * they lie. */
static struct record record;
static char delays_room[1024];

enum { kKernelThread = 0x00200000 }; /* PF_KTHREAD of linux/sched.h */

/* By a mask, from which verifiers of all kernels see that there is room. */
static __u32 cpu_bytes(void) {
  _Static_assert((RECORD_CPU_WORDS & (RECORD_CPU_WORDS + 1)) == 0, "a mask");
  return (cpu_words & RECORD_CPU_WORDS) * 8;
}

static void copy_cgroup(struct task_struct* task) {
  struct css_set* cgroups = 0;
  bpf_core_read(&cgroups, sizeof cgroups, &task->cgroups);
  if ((__u32)task->tgid == last_tgid && cgroups == last_cgroups) return;
  last_cgroups = cgroups;
  record.cgroup_id = BPF_CORE_READ(cgroups, dfl_cgrp, kn, id);
}

static void copy_identity(struct task_struct* task) {
  record.tid = task->pid;
  record.tgid = task->tgid;
  bpf_core_read(record.comm, sizeof record.comm, &task->comm);
  record.start_boottime = task->start_boottime;
  copy_cgroup(task);
  record.nr_threads = task->pid == task->tgid ? BPF_CORE_READ(task, signal, nr_threads) : 0;
}

static void copy_scheduling(struct task_struct* task) {
  record.flags = task->flags;
  record.state = task->__state;
  record.exit_state = task->exit_state;
  record.policy = task->policy;
  record.prio = task->prio;
  record.static_prio = task->static_prio;
  record.rt_priority = task->rt_priority;
  record.cpu = task->thread_info.cpu;
  record.nr_migrations = task->se.nr_migrations;
  bpf_core_read(&record.sched_class, sizeof record.sched_class, &task->sched_class);
  if (bpf_core_field_exists(task->se.slice)) {
    record.has |= RECORD_HAS_SLICE;
    record.slice = task->se.slice;
  }
  bpf_probe_read_kernel(record.cpus, cpu_bytes(),
                        __builtin_preserve_access_index(&task->cpus_mask));
}

static void copy_times(struct task_struct* task) {
  record.min_flt = task->min_flt;
  record.maj_flt = task->maj_flt;
  record.nvcsw = task->nvcsw;
  record.nivcsw = task->nivcsw;
  record.utime = task->utime;
  record.stime = task->stime;
  record.sum_exec_runtime = task->se.sum_exec_runtime;
  if (bpf_core_field_exists(task->prev_cputime.utime)) {
    record.has |= RECORD_HAS_PREV_CPUTIME;
    record.prev_utime = task->prev_cputime.utime;
    record.prev_stime = task->prev_cputime.stime;
  }
  if (bpf_core_field_exists(task->sched_info.pcount)) {
    record.has |= RECORD_HAS_SCHED_INFO;
    record.pcount = task->sched_info.pcount;
    record.run_delay = task->sched_info.run_delay;
  }
  if (bpf_core_field_exists(task->sched_info.max_run_delay)) {
    record.has |= RECORD_HAS_SCHED_INFO_EXTREMES;
    record.max_run_delay = task->sched_info.max_run_delay;
    record.min_run_delay = task->sched_info.min_run_delay;
  }
}

static void copy_io(struct task_struct* task) {
  if (!bpf_core_field_exists(task->ioac.rchar) || !bpf_core_field_exists(task->ioac.read_bytes))
    return;
  record.has |= RECORD_HAS_IO;
  record.rchar = task->ioac.rchar;
  record.wchar = task->ioac.wchar;
  record.syscr = task->ioac.syscr;
  record.syscw = task->ioac.syscw;
  record.read_bytes = task->ioac.read_bytes;
  record.write_bytes = task->ioac.write_bytes;
  record.cancelled_write_bytes = task->ioac.cancelled_write_bytes;
}

/* The kernel's get_mm_counter: a sum that may be less than zero for a moment counts as zero. */
static __u64 pages(__s64 count) { return count > 0 ? count : 0; }

static __u64 resident(struct mm_struct* mm) {
  struct mm_struct___counted* counted = (void*)mm;
  if (bpf_core_field_exists(counted->rss_stat.count))
    return pages(BPF_CORE_READ(counted, rss_stat.count[MM_FILEPAGES].counter)) +
           pages(BPF_CORE_READ(counted, rss_stat.count[MM_ANONPAGES].counter)) +
           pages(BPF_CORE_READ(counted, rss_stat.count[MM_SHMEMPAGES].counter));
  return pages(BPF_CORE_READ(mm, rss_stat[MM_FILEPAGES].count)) +
         pages(BPF_CORE_READ(mm, rss_stat[MM_ANONPAGES].count)) +
         pages(BPF_CORE_READ(mm, rss_stat[MM_SHMEMPAGES].count));
}

static struct mm_struct* memory_of(struct task_struct* task) {
  struct mm_struct* mm = 0;
  bpf_core_read(&mm, sizeof mm, &task->mm);
  return mm;
}

static void copy_figures(struct mm_struct* mm) {
  record.hiwater_rss = BPF_CORE_READ(mm, hiwater_rss);
  record.hiwater_vm = BPF_CORE_READ(mm, hiwater_vm);
  record.total_vm = BPF_CORE_READ(mm, total_vm);
  record.rss = resident(mm);
  record.start_code = BPF_CORE_READ(mm, start_code);
  record.end_code = BPF_CORE_READ(mm, end_code);
  record.start_stack = BPF_CORE_READ(mm, start_stack);
}

/* Nothing keeps an address space from going while it is read, and its memory from being another's:
 * a thread that exits or runs another program lets go of the pointer before that, so figures are
 * good if it still stands there behind them. */
static void copy_memory(struct task_struct* task) {
  if (task->flags & kKernelThread) return; /* its address space is borrowed */
  for (int attempt = 0; attempt < 2; ++attempt) {
    struct mm_struct* mm = memory_of(task);
    if (!mm) return;
    const int is_copied = (__u32)task->tgid == last_tgid && mm == last_memory;
    if (!is_copied) copy_figures(mm);
    if (memory_of(task) != mm) continue;
    last_memory = mm;
    record.of |= RECORD_OF_MEMORY;
    return;
  }
  last_memory = 0;
}

/* As it was saved when the thread last left a CPU: it is set once in a thread's life. */
static void copy_thread_pointer(struct task_struct* task) {
  struct task_struct___aarch64* other = (void*)task;
  if (bpf_core_field_exists(task->thread.fsbase)) {
    record.has |= RECORD_HAS_THREAD_POINTER;
    record.thread_pointer = task->thread.fsbase;
  } else if (bpf_core_field_exists(other->thread.uw.tp_value)) {
    record.has |= RECORD_HAS_THREAD_POINTER;
    bpf_core_read(&record.thread_pointer, sizeof record.thread_pointer, &other->thread.uw.tp_value);
  }
}

#define COPY_DELAY(info, slot, kind)                       \
  do {                                                     \
    record.delays[slot].count = (info)->kind##_count;      \
    record.delays[slot].total = (info)->kind##_delay;      \
    if (bpf_core_field_exists((info)->kind##_delay_max)) { \
      record.delays[slot].max = (info)->kind##_delay_max;  \
      record.delays[slot].min = (info)->kind##_delay_min;  \
    }                                                      \
  } while (0)

static void copy_delays(struct task_struct* task) {
  struct task_delay_info* info = 0;
  if (!bpf_core_field_exists(task->delays)) return;
  record.has |= RECORD_HAS_DELAYS;
  if (bpf_core_field_exists(info->blkio_delay_max)) record.has |= RECORD_HAS_DELAY_EXTREMES;
  if (bpf_core_field_exists(info->wpcopy_delay)) record.has |= RECORD_HAS_WPCOPY;
  if (bpf_core_field_exists(info->irq_delay)) record.has |= RECORD_HAS_IRQ;
  if (bpf_core_field_exists(((struct rq*)0)->prev_irq_time)) record.has |= RECORD_HAS_IRQ_TIME;
  bpf_core_read(&info, sizeof info, &task->delays);
  if (!info) return;
  if (bpf_probe_read_kernel(delays_room, bpf_core_type_size(struct task_delay_info), info) != 0)
    return;
  record.of |= RECORD_OF_DELAYS;
  info = (struct task_delay_info*)delays_room;
  COPY_DELAY(info, RECORD_BLKIO, blkio);
  COPY_DELAY(info, RECORD_SWAPIN, swapin);
  COPY_DELAY(info, RECORD_FREEPAGES, freepages);
  COPY_DELAY(info, RECORD_THRASHING, thrashing);
  COPY_DELAY(info, RECORD_COMPACT, compact);
  if (bpf_core_field_exists(info->wpcopy_delay)) COPY_DELAY(info, RECORD_WPCOPY, wpcopy);
  if (bpf_core_field_exists(info->irq_delay)) COPY_DELAY(info, RECORD_IRQ, irq);
}

#define COPY_STATISTIC(field) record.field = task->stats.field

static void copy_statistics(struct task_struct* task) {
  if (!bpf_core_field_exists(task->stats.nr_wakeups)) return;
  record.has |= RECORD_HAS_STATISTICS;
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
    record.has |= RECORD_HAS_FORCEIDLE;
    COPY_STATISTIC(core_forceidle_sum);
  }
}

SEC("iter/task")
int copy_task(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task) return 0;
  if (only_tgid != 0 && (__u32)task->tgid != only_tgid) return 0;
  record.has = 0;
  record.of = 0;
  copy_identity(task);
  copy_scheduling(task);
  copy_times(task);
  copy_io(task);
  copy_memory(task);
  copy_thread_pointer(task);
  copy_delays(task);
  copy_statistics(task);
  last_tgid = task->tgid;
  bpf_seq_write(ctx->meta->seq, &record, RECORD_FIXED + cpu_bytes());
  return 0;
}
