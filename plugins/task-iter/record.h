/* The record that the BPF program writes for one thread, shared by both sides: raw kernel values
 * without interpretation.
 *
 * The program and this plugin are built together, so the layout needs no version. Every field is
 * present in every record; fields that the bits of `features` and `properties` mark as missing are
 * meaningless. The set of CPUs is last, and only as long as the host needs: a record is
 * RECORD_FIXED bytes plus eight for each 64 possible CPUs.
 *
 * Three compilers read this file, so it is written in C.
 * See also: task_iter.bpf.c fills records, decode.hpp interprets them.
 */
#ifndef CTPROF_TASK_ITER_RECORD_H
#define CTPROF_TASK_ITER_RECORD_H

/* The same eight bytes for both sides. In C++ they have a newtype, so that no table can write them
 * into a column of another type. Signed values are signed in the kernel. */
#ifdef __cplusplus
#include "ctprof/gap.hpp"
#include "ctprof/metric.hpp"
namespace ctprof::task_iter {
template <class N>
struct SignedValue {
  SignedValue() = default;
  constexpr SignedValue(long long initial_value) : value(initial_value) {}
  constexpr operator long long() const { return value; }

  long long value;
};
}  // namespace ctprof::task_iter
#define RECORD_FIGURE(newtype) ctprof::sdk::Figure<ctprof::sdk::newtype>
#define RECORD_SIGNED(newtype) ctprof::task_iter::SignedValue<ctprof::sdk::newtype>
#else
#define RECORD_FIGURE(newtype) unsigned long long
#define RECORD_SIGNED(newtype) long long
#endif

/* Bits of `features`: what this kernel's structures contain. They are the same in all records of a
 * pass. */
enum record_features {
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
  RECORD_HAS_IRQ_TIME = 1 << 12, /* the kernel measures the time of interrupts */
  RECORD_HAS_IN_PROGRESS = 1 << 13,
};

/* Bits of `properties`: what applies to this thread. */
enum record_properties {
  RECORD_OF_DELAYS = 1 << 0,   /* its delays are accounted */
  RECORD_OF_MEMORY = 1 << 1,   /* it has an address space */
  RECORD_OF_COMMAND = 1 << 2,  /* it descends from the window's command */
  RECORD_OF_FOLLOWED = 1 << 3, /* it descends from processes whose children are followed */
};

struct record_delay {
  RECORD_FIGURE(MonotonicCount) count;
  RECORD_FIGURE(MonotonicNs) total;
  RECORD_FIGURE(PeakNs) max;
  RECORD_FIGURE(PeakNs) min;
};

/* Seven kinds of delay, in the order of taskstats. The delay of the CPU is in sched_info. */
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
  unsigned int features;
  unsigned int properties;
  unsigned int tid;
  unsigned int tgid;
  unsigned int parent; /* the parent process of its process; 0 for an exited thread */
  unsigned int unused;
  char comm[RECORD_COMM];
  unsigned long long start_boottime;
  unsigned long long now_boottime; /* when the record was written */
  unsigned long long cgroup_id;

  unsigned int flags;
  unsigned int state;
  unsigned int exit_state;
  unsigned int policy;
  int prio;
  int static_prio;
  unsigned int rt_priority;
  unsigned int cpu;
  RECORD_FIGURE(GaugeCount) nr_threads; /* of leaders only */

  RECORD_FIGURE(MonotonicCount) min_flt;
  RECORD_FIGURE(MonotonicCount) maj_flt;
  RECORD_FIGURE(MonotonicCount) nvcsw;
  RECORD_FIGURE(MonotonicCount) nivcsw;
  unsigned long long utime;
  unsigned long long stime;
  unsigned long long prev_utime;
  unsigned long long prev_stime;
  RECORD_FIGURE(MonotonicNs) sum_exec_runtime;
  RECORD_FIGURE(MonotonicCount) nr_migrations;
  RECORD_FIGURE(GaugeNs) slice;
  unsigned long long sched_class; /* its address */

  RECORD_FIGURE(MonotonicCount) pcount;
  RECORD_FIGURE(MonotonicNs) run_delay;
  RECORD_FIGURE(PeakNs) max_run_delay;
  RECORD_FIGURE(PeakNs) min_run_delay;

  RECORD_FIGURE(GaugeNs) run_in_progress;
  RECORD_FIGURE(GaugeNs) wait_in_progress;

  RECORD_FIGURE(Bytes) rchar;
  RECORD_FIGURE(Bytes) wchar;
  RECORD_FIGURE(MonotonicCount) syscr;
  RECORD_FIGURE(MonotonicCount) syscw;
  RECORD_FIGURE(Bytes) read_bytes;
  RECORD_FIGURE(Bytes) write_bytes;
  RECORD_FIGURE(Bytes) cancelled_write_bytes;

  /* In pages. */
  unsigned long long hiwater_rss;
  unsigned long long hiwater_vm;
  unsigned long long total_vm;
  unsigned long long rss;

  /* For user threads: addresses in their memory. */
  unsigned long long thread_pointer;
  unsigned long long start_code;
  unsigned long long end_code;
  unsigned long long start_stack;

  struct record_delay delays[RECORD_DELAYS];

  RECORD_FIGURE(MonotonicCount) nr_wakeups;
  RECORD_FIGURE(MonotonicCount) nr_wakeups_local;
  RECORD_FIGURE(MonotonicCount) nr_wakeups_remote;
  RECORD_FIGURE(MonotonicCount) nr_wakeups_sync;
  RECORD_FIGURE(MonotonicCount) nr_wakeups_migrate;
  RECORD_FIGURE(MonotonicCount) nr_wakeups_affine;
  RECORD_FIGURE(MonotonicCount) nr_wakeups_affine_attempts;
  RECORD_FIGURE(MonotonicCount) nr_forced_migrations;
  RECORD_FIGURE(MonotonicCount) nr_failed_migrations_affine;
  RECORD_FIGURE(MonotonicCount) nr_failed_migrations_running;
  RECORD_FIGURE(MonotonicCount) nr_failed_migrations_hot;
  RECORD_SIGNED(MonotonicNs) wait_sum;
  RECORD_FIGURE(MonotonicCount) wait_count;
  RECORD_SIGNED(PeakNs) wait_max;
  RECORD_SIGNED(MonotonicNs) sum_sleep_runtime;
  RECORD_SIGNED(PeakNs) sleep_max;
  RECORD_SIGNED(MonotonicNs) sum_block_runtime;
  RECORD_SIGNED(PeakNs) block_max;
  RECORD_SIGNED(MonotonicNs) iowait_sum;
  RECORD_FIGURE(MonotonicCount) iowait_count;
  RECORD_SIGNED(PeakNs) exec_max;
  RECORD_SIGNED(PeakNs) slice_max;
  RECORD_SIGNED(MonotonicNs) core_forceidle_sum;

  unsigned long long cpus[RECORD_CPU_WORDS];
};

#define RECORD_FIXED (sizeof(struct record) - sizeof(((struct record*)0)->cpus))

#endif
