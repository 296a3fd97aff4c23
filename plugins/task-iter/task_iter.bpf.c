/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The program that the kernel runs once for each thread: it copies what task_struct says into a
 * record, and the record into the reader's buffer.
 *
 * What is here:   one pass, and what it knows of the thread before.
 * What is not:    the copying (copy.bpf.h), what the figures mean (decode.cc), who loads and reads
 * (pass.cc), where scheduling classes are (ext_class.bpf.c).
 */
#include "copy.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by the reader before a pass. */
__u32 only_tgid = 0; /* 0: every process */
__u32 cpu_words = 0; /* how many words of the set of CPUs are wanted */

/* The process of the thread before, 0 at first: threads of a process come one after the other,
 * mostly share memory and cgroup, and what the record says of these is then right already. */
__u32 last_tgid = 0;
static struct mm_struct* last_memory;
static struct css_set* last_cgroups;

/* Of the one pass that there is at a time. */
static struct record record;
static char delays_room[kDelaysRoom];

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

/* A thread that was taken out of the kernel's tables is not told when its parent goes, and must not
 * be asked for it: getppid and /proc say 0. Of one that is in there, the parent's memory stays
 * until this program is over, for it runs in an RCU section. */
static void copy_parent(struct task_struct* task) {
  record.parent = 0;
  if (BPF_CORE_READ(task, thread_pid)) record.parent = BPF_CORE_READ(task, real_parent, tgid);
}

SEC("iter/task")
int copy_task(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task) return 0;
  if (only_tgid != 0 && (__u32)task->tgid != only_tgid) return 0;
  record.has = 0;
  record.of = 0;
  copy_identity(&record, task);
  copy_parent(task);
  copy_cgroup(task);
  copy_scheduling(&record, task);
  bpf_probe_read_kernel(record.cpus, cpu_bytes(),
                        __builtin_preserve_access_index(&task->cpus_mask));
  copy_times(&record, task);
  copy_in_progress(&record, task);
  copy_io(&record, task);
  copy_memory(task);
  copy_thread_pointer(&record, task);
  copy_delays(&record, task, delays_room);
  copy_statistics(&record, task);
  last_tgid = task->tgid;
  bpf_seq_write(ctx->meta->seq, &record, RECORD_FIXED + cpu_bytes());
  return 0;
}
