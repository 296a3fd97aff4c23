/* The kernel structures that the program reads, with only the fields that it reads. The loader
 * adjusts every access to the field's offset in the running kernel (CO-RE), so the order of fields,
 * omitted fields and the kernel of the build machine do not matter. Fields that some kernels lack
 * are tested with bpf_core_field_exists.
 */
#ifndef CTPROF_TASK_ITER_KERNEL_H
#define CTPROF_TASK_ITER_KERNEL_H

#include "plugins/shared/kernel_types.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info {
  __u32 cpu;
};

/* The run queue of a CPU. */
struct rq {
  __u64 prev_irq_time; /* CONFIG_IRQ_TIME_ACCOUNTING */
  __u64 clock;
  __u64 clock_task; /* without interrupt and steal time */
};

struct cfs_rq {
  struct rq* rq; /* CONFIG_FAIR_GROUP_SCHED */
};

struct sched_entity {
  __u64 exec_start;
  struct cfs_rq* cfs_rq; /* CONFIG_FAIR_GROUP_SCHED */
  __u64 sum_exec_runtime;
  __u64 nr_migrations;
  __u64 slice; /* Linux 6.6 */
};

struct sched_info { /* CONFIG_SCHED_INFO */
  unsigned long pcount;
  unsigned long long run_delay;
  unsigned long long last_queued;   /* 0: it is not waiting */
  unsigned long long max_run_delay; /* Linux 6.14, like min */
  unsigned long long min_run_delay;
};

struct sched_statistics { /* CONFIG_SCHEDSTATS */
  __s64 wait_sum;
  __u64 wait_count;
  __s64 wait_max;
  __s64 sum_sleep_runtime;
  __s64 sleep_max;
  __s64 sum_block_runtime;
  __s64 block_max;
  __s64 iowait_sum;
  __u64 iowait_count;
  __s64 exec_max;
  __s64 slice_max;
  __u64 nr_failed_migrations_affine;
  __u64 nr_failed_migrations_running;
  __u64 nr_failed_migrations_hot;
  __u64 nr_forced_migrations;
  __u64 nr_wakeups;
  __u64 nr_wakeups_sync;
  __u64 nr_wakeups_migrate;
  __u64 nr_wakeups_local;
  __u64 nr_wakeups_remote;
  __u64 nr_wakeups_affine;
  __u64 nr_wakeups_affine_attempts;
  __s64 core_forceidle_sum; /* CONFIG_SCHED_CORE */
};

struct prev_cputime {
  __u64 utime;
  __u64 stime;
};

struct task_io_accounting {
  __u64 rchar; /* CONFIG_TASK_XACCT, like the three below */
  __u64 wchar;
  __u64 syscr;
  __u64 syscw;
  __u64 read_bytes; /* CONFIG_TASK_IO_ACCOUNTING, like the two below */
  __u64 write_bytes;
  __u64 cancelled_write_bytes;
};

struct task_delay_info { /* CONFIG_TASK_DELAY_ACCT; the extremes since Linux 6.14 */
  __u64 blkio_delay, blkio_delay_max, blkio_delay_min;
  __u64 swapin_delay, swapin_delay_max, swapin_delay_min;
  __u64 freepages_delay, freepages_delay_max, freepages_delay_min;
  __u64 thrashing_delay, thrashing_delay_max, thrashing_delay_min;
  __u64 compact_delay, compact_delay_max, compact_delay_min;
  __u64 wpcopy_delay, wpcopy_delay_max, wpcopy_delay_min; /* Linux 6.0 */
  __u64 irq_delay, irq_delay_max, irq_delay_min;          /* Linux 6.4 */
  __u32 blkio_count, swapin_count, freepages_count, thrashing_count, compact_count, wpcopy_count,
      irq_count;
};

struct percpu_counter {
  __s64 count;
};

enum { MM_FILEPAGES = 0, MM_ANONPAGES = 1, MM_SHMEMPAGES = 3, NR_MM_COUNTERS = 4 };

struct mm_struct {
  unsigned long hiwater_rss;
  unsigned long hiwater_vm;
  unsigned long total_vm;
  unsigned long start_code;
  unsigned long end_code;
  unsigned long start_stack;
  struct percpu_counter rss_stat[NR_MM_COUNTERS]; /* Linux 6.2 */
};

/* Before Linux 6.2. */
struct mm_rss_stat {
  struct {
    long counter;
  } count[NR_MM_COUNTERS];
};
struct mm_struct___counted {
  struct mm_rss_stat rss_stat;
};

struct kernfs_node {
  __u64 id;
  const char* name;
  struct kernfs_node* parent;
};
/* Since Linux 6.15. */
struct kernfs_node___rcu {
  struct kernfs_node* __parent;
};
struct cgroup {
  struct kernfs_node* kn;
};
struct css_set {
  struct cgroup* dfl_cgrp;
};

struct signal_struct {
  int nr_threads;
  unsigned long maxrss; /* in pages, set when the last thread releases the memory */
};

struct cpumask {
  unsigned long bits[1];
};

struct thread_struct {
  unsigned long fsbase; /* x86_64 */
};

struct pid;
struct sched_class;
struct task_struct {
  struct thread_info thread_info;
  unsigned int on_cpu; /* one byte from Linux 7.3 on: an unsigned field may change its size */
  struct task_struct* group_leader;
  struct task_struct* real_parent;
  struct pid* thread_pid; /* null after the thread was removed from the pid table */
  unsigned int __state;
  unsigned int flags;
  int exit_state;
  int prio;
  int static_prio;
  unsigned int rt_priority;
  unsigned int policy;
  const struct sched_class* sched_class;
  struct sched_entity se;
  struct sched_statistics stats;
  struct sched_info sched_info;
  struct cpumask cpus_mask;
  struct mm_struct* mm;
  int pid;
  int tgid;
  __u64 utime;
  __u64 stime;
  struct prev_cputime prev_cputime;
  unsigned long nvcsw;
  unsigned long nivcsw;
  __u64 start_boottime;
  unsigned long min_flt;
  unsigned long maj_flt;
  char comm[16];
  struct signal_struct* signal;
  struct task_io_accounting ioac;
  struct css_set* cgroups;
  struct task_delay_info* delays;
  struct thread_struct thread;
};

/* The thread pointer of aarch64. */
struct thread_struct___aarch64 {
  struct {
    unsigned long tp_value;
  } uw;
};
struct task_struct___aarch64 {
  struct thread_struct___aarch64 thread;
};

#pragma clang attribute pop

#endif
