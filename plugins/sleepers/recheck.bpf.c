/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Runs on demand after user stacks were copied. It reports which of those threads have not run
 * since they were sampled, so that the copy is of that time, and where the others sleep now. It is
 * separate from the program that visits all threads, because it needs a kernel function of Linux
 * 6.2.
 */
#include "sleeper_sample.bpf.h"

#include "recheck.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

extern struct task_struct* bpf_task_from_pid(__s32 tid) __ksym;
extern void bpf_task_release(struct task_struct* task) __ksym;

/* Set by the reader. */
__u32 count = 0;
struct recheck_entry threads[RECHECK_MAX_THREADS] = {};

static __always_inline void recheck_thread(struct recheck_entry* entry, struct task_struct* task) {
  if (!is_asleep(task) || task->start_boottime != entry->start_boottime) return;
  if (count_switches(task) == entry->switches)
    entry->result = RECHECK_UNCHANGED;
  else if (take_sample(&entry->sample, task) >= 0)
    entry->result = RECHECK_ASLEEP_AGAIN;
}

static long recheck_one(__u32 index, void* unused) {
  (void)unused;
  if (index >= RECHECK_MAX_THREADS) return 1;
  struct recheck_entry* one = &threads[index];
  one->result = RECHECK_NOT_ASLEEP;
  struct task_struct* task = bpf_task_from_pid(one->tid);
  if (!task) return 0;
  recheck_thread(one, task);
  bpf_task_release(task);
  return 0;
}

SEC("syscall")
int recheck(void* unused) {
  (void)unused;
  bpf_loop(count, recheck_one, 0, 0);
  return 0;
}
