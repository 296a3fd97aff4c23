/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The program that the kernel runs once for each thread: it copies fields of task_struct into a
 * record, and the record into the reader's buffer.
 *
 * See also: copy.bpf.h for the copying, decode.cc for the meaning of values, pass.cc for loading
 * and reading, ext_class.bpf.c for the address of the scheduling class.
 */
#include "copy.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by the reader before a pass. */
__u32 only_tgid = 0; /* 0: every process */
__u32 cpu_words = 0; /* number of requested words of the set of CPUs */

/* The process of the previous thread, 0 at first. Threads of a process are consecutive and usually
 * share memory and cgroup, so these fields of the record are already correct. */
__u32 last_tgid = 0;
static struct mm_struct* last_memory;
static struct css_set* last_cgroups;

/* Used by one pass at a time. */
static struct record record;
static char delays_room[kDelaysBufferSize];

/* Uses a mask, which proves to the verifiers of all kernels that the size is in range. */
static __u32 cpu_set_bytes(void) {
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

/* Mirrors the kernel's get_mm_counter: a sum that is temporarily below zero counts as zero. */
static __u64 clamp_pages(__s64 count) { return count > 0 ? count : 0; }

static __u64 count_resident_pages(struct mm_struct* mm) {
  struct mm_struct___counted* mm_before_6_2 = (void*)mm;
  if (bpf_core_field_exists(mm_before_6_2->rss_stat.count))
    return clamp_pages(BPF_CORE_READ(mm_before_6_2, rss_stat.count[MM_FILEPAGES].counter)) +
           clamp_pages(BPF_CORE_READ(mm_before_6_2, rss_stat.count[MM_ANONPAGES].counter)) +
           clamp_pages(BPF_CORE_READ(mm_before_6_2, rss_stat.count[MM_SHMEMPAGES].counter));
  return clamp_pages(BPF_CORE_READ(mm, rss_stat[MM_FILEPAGES].count)) +
         clamp_pages(BPF_CORE_READ(mm, rss_stat[MM_ANONPAGES].count)) +
         clamp_pages(BPF_CORE_READ(mm, rss_stat[MM_SHMEMPAGES].count));
}

static struct mm_struct* read_memory_pointer(struct task_struct* task) {
  struct mm_struct* mm = 0;
  bpf_core_read(&mm, sizeof mm, &task->mm);
  return mm;
}

static void copy_memory_values(struct mm_struct* mm) {
  record.hiwater_rss = BPF_CORE_READ(mm, hiwater_rss);
  record.hiwater_vm = BPF_CORE_READ(mm, hiwater_vm);
  record.total_vm = BPF_CORE_READ(mm, total_vm);
  record.rss = count_resident_pages(mm);
  record.start_code = BPF_CORE_READ(mm, start_code);
  record.end_code = BPF_CORE_READ(mm, end_code);
  record.start_stack = BPF_CORE_READ(mm, start_stack);
}

/* An address space may be freed while it is read, and its memory reused. A thread that exits or
 * executes another program clears the pointer before that. Therefore the values are valid if the
 * pointer is unchanged after the read. */
static void copy_memory(struct task_struct* task) {
  if (task->flags & kKernelThread) return; /* a kernel thread has a borrowed address space */
  for (int attempt = 0; attempt < 2; ++attempt) {
    struct mm_struct* mm = read_memory_pointer(task);
    if (!mm) return;
    const int is_copied = (__u32)task->tgid == last_tgid && mm == last_memory;
    if (!is_copied) copy_memory_values(mm);
    if (read_memory_pointer(task) != mm) continue;
    last_memory = mm;
    record.properties |= RECORD_OF_MEMORY;
    return;
  }
  last_memory = 0;
}

/* The parent pointer of a thread that was removed from the kernel's tables is not updated when the
 * parent exits, so it must not be followed: getppid and /proc return 0. For other threads the
 * parent's memory remains valid until this program ends, because it runs in an RCU section. */
static void copy_parent(struct task_struct* task) {
  record.parent = 0;
  if (BPF_CORE_READ(task, thread_pid)) record.parent = BPF_CORE_READ(task, real_parent, tgid);
}

SEC("iter/task")
int copy_task(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task) return 0;
  if (only_tgid != 0 && (__u32)task->tgid != only_tgid) return 0;
  record.features = 0;
  record.properties = 0;
  copy_identity(&record, task);
  copy_parent(task);
  copy_cgroup(task);
  copy_scheduling(&record, task);
  bpf_probe_read_kernel(record.cpus, cpu_set_bytes(),
                        __builtin_preserve_access_index(&task->cpus_mask));
  copy_times(&record, task);
  copy_in_progress(&record, task);
  copy_io(&record, task);
  copy_memory(task);
  copy_thread_pointer(&record, task);
  copy_delays(&record, task, delays_room);
  copy_statistics(&record, task);
  last_tgid = task->tgid;
  bpf_seq_write(ctx->meta->seq, &record, RECORD_FIXED + cpu_set_bytes());
  return 0;
}
