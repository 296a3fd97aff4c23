/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The state of a thread, and how events change it.
 *
 * The scheduler's locks serialize the events of one thread: leaving a CPU, being woken up, being
 * given a CPU. Therefore only one event at a time changes the state, on any CPU. Only the reader's
 * passes run concurrently; `version` shows whether they read a consistent state.
 *
 * A window begins at a time that the reader sets ahead, and each thread's sums restart with its
 * first event after that time. Until then the reader adds the time of the unfinished state.
 */
#ifndef CTPROF_OFF_CPU_THREAD_BPF_H
#define CTPROF_OFF_CPU_THREAD_BPF_H

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "ctprof/abi/histogram.h"
#include "shared_records.h"

/* Features of this kernel; set before loading, so that the verifier ignores unsupported code. */
const volatile __u32 has_task_storage = 1;
const volatile __u32 has_previous_state = 1; /* the tracepoint reports why a thread left its CPU */
const volatile __u32 has_user_registers = 1;

/* Whether histograms are kept. Requires task storage. A test can change it at run time. */
#ifndef OFF_CPU_HISTOGRAM_SETTING
#define OFF_CPU_HISTOGRAM_SETTING const volatile
#endif
OFF_CPU_HISTOGRAM_SETTING __u32 has_histograms = 0;

/* Reads a field of a task. Without task storage, the current thread is available only as an
 * address, which the verifier does not allow to dereference directly. */
#define task_field(task, field) (has_task_storage ? (task)->field : BPF_CORE_READ(task, field))

/* Set by the reader. Windows are numbered from 1; the window of this number may not have begun yet.
 */
__u32 window_number = 0;
__u64 window_opened[OFF_WINDOWS] = {};
__u64 period_ns = 1000000;
__u32 every_stack = 0;
__u32 all_waits = 0;

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct off_thread);
} threads SEC(".maps");

/* Created only if histograms are kept. */
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct off_histogram_pair);
} histograms SEC(".maps");

/* The same as `threads` by tid, for kernels without task storage. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct off_thread);
} threads_by_tid SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct off_per_cpu);
} cpus SEC(".maps");

static __always_inline struct off_per_cpu* this_cpu(void) {
  __u32 first = 0;
  return bpf_map_lookup_elem(&cpus, &first);
}

static __always_inline void count(__u32 counter) {
  struct off_per_cpu* cpu = this_cpu();
  if (cpu) ++cpu->counters[counter];
}

static __always_inline struct off_thread* find_thread(struct task_struct* task) {
  if (has_task_storage) return bpf_task_storage_get(&threads, task, 0, 0);
  __u32 tid = task_field(task, pid);
  return bpf_map_lookup_elem(&threads_by_tid, &tid);
}

/* Returns null if histograms are not kept. */
static __always_inline struct off_histogram_pair* find_histograms(struct task_struct* task) {
  return has_histograms ? bpf_task_storage_get(&histograms, task, 0, 0) : 0;
}

static __always_inline void copy_identity(struct off_identity* identity, struct task_struct* task) {
  identity->tgid = task_field(task, tgid);
  identity->tid = task_field(task, pid);
  identity->start_boottime = task_field(task, start_boottime);
}

/* TASK_INTERRUPTIBLE and other states of linux/sched.h. */
enum { kUninterruptible = 2, kDead = 0x80, kWaking = 0x200, kNoLoad = 0x400 };

static __always_inline __u64 state_bits(struct task_struct* task) {
  struct task_struct___older* older = (void*)task;
  if (bpf_core_field_exists(task->__state)) return task->__state;
  return older->state;
}

/* Returns the state of a thread that is not runnable. Idle kernel threads have the flag
 * TASK_NOLOAD. */
static __always_inline __u32 blocked_state(__u64 bits) {
  return (bits & kUninterruptible) && !(bits & kNoLoad) ? OFF_BLOCKED : OFF_SLEEPING;
}

static __always_inline __u32 window_number_at(__u64 now) {
  const __u32 number = window_number;
  return number != 0 && now < window_opened[number % OFF_WINDOWS] ? number - 1 : number;
}

static __always_inline int is_charged(__u32 state) {
  return all_waits ? state < OFF_WAIT_STATES : state <= OFF_BLOCKED;
}

static __always_inline void add_wait(struct off_sums* sums, __u64 length) {
  ++sums->waits;
  if (length > sums->longest) sums->longest = length;
  if (sums->shortest == 0 || length < sums->shortest) sums->shortest = length;
}

/* Adds the time of a state that has ended, or was split at the edge of a window. */
static __always_inline void add_time(struct off_sums* sums, __u32 state, __u64 length) {
  if (state >= OFF_STATES) return;
  sums->ns[state & 7] += length;
  if (state < OFF_WAIT_STATES) ++sums->counts[state & 3];
}

/* Counts one time in the histogram of its state. */
static __always_inline void count_time(struct off_histograms* of, __u32 state, __u64 length) {
  if (state >= OFF_STATES) return;
  const __u32 kind = state <= OFF_BLOCKED      ? OFF_BLOCKED_WAITS
                     : state < OFF_WAIT_STATES ? OFF_CPU_WAITS
                                               : OFF_SLICES;
  __u32 bucket = ctprof_histogram_bucket(length);
  bucket = bucket > OFF_FIRST_BUCKET ? bucket - OFF_FIRST_BUCKET : 0;
  if (bucket >= OFF_BUCKETS) bucket = OFF_BUCKETS - 1;
  const __u32 index = kind * OFF_BUCKETS + bucket;
  if (index < OFF_HISTOGRAMS * OFF_BUCKETS) ++of->counts[index]; /* the verifier needs the check */
}

/* Returns a random threshold between half and one and a half periods. Therefore at most two points
 * are within a wait that is shorter than a period.
 */
static __always_inline __u64 draw_threshold(void) {
  const __u64 random = bpf_get_prandom_u32() >> 8;
  return period_ns / 2 + (random * period_ns >> 24);
}

/* Does for the histograms what begin_window() does for the sums. A run that ends slightly after its
 * event counts in the window of the event. REQUIRES: state_start is not before the previous edge.
 */
static __always_inline void begin_histograms(struct off_histogram_pair* of,
                                             const struct off_thread* thread, __u32 number) {
  const __u64 edge = window_opened[number % OFF_WINDOWS];
  struct off_histograms* last = &of->windows[(number - 1) & 1];
  if (thread->window != number - 1) __builtin_memset(last, 0, sizeof *last);
  if (thread->state_start < edge) count_time(last, thread->state, edge - thread->state_start);
  __builtin_memset(&of->windows[number & 1], 0, sizeof *last);
}

/* Ends the thread's previous window at the edge, and begins this one. `of`: null if histograms are
 * not kept. */
static __always_inline void begin_window(struct off_thread* thread, struct off_histogram_pair* of,
                                         __u32 number) {
  const __u64 edge = window_opened[number % OFF_WINDOWS];
  const __u64 previous_edge = window_opened[(number - 1) % OFF_WINDOWS];
  struct off_sums* last = &thread->sums[(number - 1) & 1];
  struct off_sums* next = &thread->sums[number & 1];
  if (thread->window != number - 1) { /* no event occurred in the previous window */
    __builtin_memset(last, 0, sizeof *last);
    if (thread->state_start < previous_edge) thread->state_start = previous_edge;
    if (thread->departure < previous_edge) thread->departure = previous_edge;
  }
  if (of) begin_histograms(of, thread, number);
  if (thread->state_start < edge) {
    add_time(last, thread->state, edge - thread->state_start);
    thread->state_start = edge;
  }
  if (thread->departure < edge) {
    if (thread->state < OFF_WAIT_STATES) add_wait(last, edge - thread->departure);
    thread->departure = edge;
  }
  __builtin_memset(next, 0, sizeof *next);
  if (thread->state_start > edge &&
      thread->created < edge) { /* the state ended slightly after the event */
    last->ns[OFF_RUNNING] -= thread->state_start - edge;
    next->ns[OFF_RUNNING] += thread->state_start - edge;
  }
  thread->uncharged_total = thread->current_wait = thread->due_weight = 0;
  thread->next_threshold = draw_threshold();
  thread->window = number;
}

/* Charges a finished wait to stacks. A long wait is charged to its own stack. Otherwise a stack is
 * due at random points of the concatenated waiting time, and is charged with the time between its
 * point and the previous one. Therefore places are sampled in proportion to the time that is spent
 * there. */
static __always_inline void charge_wait(struct off_thread* thread) {
  const __u64 waited = thread->current_wait;
  thread->current_wait = 0;
  if (waited == 0) return;
  if (every_stack || waited >= period_ns) {
    thread->due_weight += waited;
    return;
  }
  thread->uncharged_total += waited;
  if (thread->uncharged_total < thread->next_threshold) return;
  thread->due_weight += thread->next_threshold;
  thread->uncharged_total -= thread->next_threshold;
  thread->next_threshold = draw_threshold();
  if (thread->uncharged_total < thread->next_threshold) return;
  thread->due_weight += thread->next_threshold;
  thread->uncharged_total -= thread->next_threshold;
  thread->next_threshold = draw_threshold();
}

/* Changes the state of a thread, and accounts for the time in the old state. */
static __always_inline void enter_state(struct task_struct* task, struct off_thread* thread,
                                        __u32 state, __u64 now, int is_unexpected) {
  const __u32 number = window_number_at(now);
  struct off_histogram_pair* of = find_histograms(task);
  thread->version++;
  barrier();
  if (thread->window != number) begin_window(thread, of, number);
  const __u32 old = thread->state;
  const __u64 length = now > thread->state_start ? now - thread->state_start : 0;
  if (now < thread->state_start) now = thread->state_start; /* the clocks of two CPUs differ */
  struct off_sums* sums = &thread->sums[number & 1];
  sums->unexpected_events += is_unexpected;
  add_time(sums, old, length);
  if (of) count_time(&of->windows[number & 1], old, length);
  if (old < OFF_WAIT_STATES && is_charged(old)) thread->current_wait += length;
  if (old >= OFF_WAIT_STATES && state < OFF_WAIT_STATES) thread->departure = now;
  if (old < OFF_WAIT_STATES && state >= OFF_WAIT_STATES) {
    add_wait(sums, now - thread->departure);
    charge_wait(thread);
  }
  thread->state_start = now;
  thread->state = state;
  thread->events++;
  barrier();
  thread->version++;
}

#endif
