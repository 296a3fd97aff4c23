/* What the BPF program says of one thread, as both sides see it: raw figures of the kernel, before
 * any of them is given a meaning.
 *
 * The program and this plugin are built together, so that the layout needs no version. Every field
 * is there in every record; what the bits of `has` and `of` say that there is not holds nothing of
 * meaning. The set of CPUs comes last, and as long as the host needs it: a record is kRecordFixed
 * bytes and eight for each 64 possible CPUs.
 *
 * What is here:   the layout, in C, for three compilers.
 * What is not:    filling it (task_iter.bpf.c), what it means (decode.hpp).
 */
#ifndef CTPROF_TASK_ITER_RECORD_H
#define CTPROF_TASK_ITER_RECORD_H

/* Bits of `has`: what this kernel's structures hold. The same in all records of a pass. */
enum record_has {
  RECORD_HAS_SCHED_INFO = 1 << 0,
  RECORD_HAS_SCHED_INFO_EXTREMES = 1 << 1,
  RECORD_HAS_IO = 1 << 2,
  RECORD_HAS_PREV_CPUTIME = 1 << 3,
  RECORD_HAS_SLICE = 1 << 4,
  RECORD_HAS_STATISTICS = 1 << 5,
  RECORD_HAS_FORCEIDLE = 1 << 6,
  RECORD_HAS_DELAYS = 1 << 7,
  RECORD_HAS_DELAY_EXTREMES = 1 << 8,
  RECORD_HAS_WPCOPY = 1 << 9,
  RECORD_HAS_IRQ = 1 << 10,
  RECORD_HAS_THREAD_POINTER = 1 << 11,
  RECORD_HAS_IRQ_TIME = 1 << 12, /* the kernel measures how long interrupts take */
};

/* Bits of `of`: what this thread has. */
enum record_of {
  RECORD_OF_DELAYS = 1 << 0, /* its delays are accounted */
  RECORD_OF_MEMORY = 1 << 1, /* it has an address space */
};

struct record_delay {
  unsigned long long count;
  unsigned long long total;
  unsigned long long max;
  unsigned long long min;
};

/* Seven kinds, in the order of taskstats; the CPU's is in sched_info. */
enum {
  RECORD_BLKIO,
  RECORD_SWAPIN,
  RECORD_FREEPAGES,
  RECORD_THRASHING,
  RECORD_COMPACT,
  RECORD_WPCOPY,
  RECORD_IRQ,
  RECORD_DELAYS
};

enum { RECORD_COMM = 16, RECORD_CPU_WORDS = 127 };

struct record {
  unsigned int has;
  unsigned int of;
  unsigned int tid;
  unsigned int tgid;
  char comm[RECORD_COMM];
  unsigned long long start_boottime;
  unsigned long long cgroup_id;

  unsigned int flags;
  unsigned int state;
  unsigned int exit_state;
  unsigned int policy;
  int prio;
  int static_prio;
  unsigned int rt_priority;
  unsigned int cpu;
  unsigned long long nr_threads; /* of leaders only */

  unsigned long long min_flt;
  unsigned long long maj_flt;
  unsigned long long nvcsw;
  unsigned long long nivcsw;
  unsigned long long utime;
  unsigned long long stime;
  unsigned long long prev_utime;
  unsigned long long prev_stime;
  unsigned long long sum_exec_runtime;
  unsigned long long nr_migrations;
  unsigned long long slice;
  unsigned long long sched_class; /* where it is */

  unsigned long long pcount;
  unsigned long long run_delay;
  unsigned long long max_run_delay;
  unsigned long long min_run_delay;

  unsigned long long rchar;
  unsigned long long wchar;
  unsigned long long syscr;
  unsigned long long syscw;
  unsigned long long read_bytes;
  unsigned long long write_bytes;
  unsigned long long cancelled_write_bytes;

  /* In pages. */
  unsigned long long hiwater_rss;
  unsigned long long hiwater_vm;
  unsigned long long total_vm;
  unsigned long long rss;

  /* Of user threads: addresses in their memory. */
  unsigned long long thread_pointer;
  unsigned long long start_code;
  unsigned long long end_code;
  unsigned long long start_stack;

  struct record_delay delays[RECORD_DELAYS];

  unsigned long long nr_wakeups;
  unsigned long long nr_wakeups_local;
  unsigned long long nr_wakeups_remote;
  unsigned long long nr_wakeups_sync;
  unsigned long long nr_wakeups_migrate;
  unsigned long long nr_wakeups_affine;
  unsigned long long nr_wakeups_affine_attempts;
  unsigned long long nr_forced_migrations;
  unsigned long long nr_failed_migrations_affine;
  unsigned long long nr_failed_migrations_running;
  unsigned long long nr_failed_migrations_hot;
  long long wait_sum;
  unsigned long long wait_count;
  long long wait_max;
  long long sum_sleep_runtime;
  long long sleep_max;
  long long sum_block_runtime;
  long long block_max;
  long long iowait_sum;
  unsigned long long iowait_count;
  long long exec_max;
  long long slice_max;
  long long core_forceidle_sum;

  unsigned long long cpus[RECORD_CPU_WORDS];
};

#define RECORD_FIXED (sizeof(struct record) - sizeof(((struct record*)0)->cpus))

#endif
