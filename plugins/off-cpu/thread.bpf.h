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

#include "told.h"

/* Features of this kernel; set before loading, so that the verifier ignores unsupported code. */
const volatile __u32 has_task_storage = 1;
const volatile __u32 has_previous_state = 1; /* the tracepoint reports why a thread left its CPU */
const volatile __u32 has_user_registers = 1;

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

/* The same by tid, for kernels without task storage. */
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
  __type(value, struct off_cpu_state);
} cpus SEC(".maps");

static __always_inline struct off_cpu_state* this_cpu(void) {
  __u32 first = 0;
  return bpf_map_lookup_elem(&cpus, &first);
}

static __always_inline void count(__u32 counter) {
  struct off_cpu_state* cpu = this_cpu();
  if (cpu) ++cpu->counters[counter];
}

static __always_inline struct off_thread* known(struct task_struct* task) {
  if (has_task_storage) return bpf_task_storage_get(&threads, task, 0, 0);
  __u32 tid = task_field(task, pid);
  return bpf_map_lookup_elem(&threads_by_tid, &tid);
}

static __always_inline void copy_who(struct off_who* who, struct task_struct* task) {
  who->tgid = task_field(task, tgid);
  who->tid = task_field(task, pid);
  who->start_boottime = task_field(task, start_boottime);
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
  return (bits & kUninterruptible) && !(bits & kNoLoad) ? OFF_BLOCKED : OFF_SLEEPS;
}

static __always_inline __u32 window_at(__u64 now) {
  const __u32 number = window_number;
  return number != 0 && now < window_opened[number % OFF_WINDOWS] ? number - 1 : number;
}

static __always_inline int is_charged(__u32 state) {
  return all_waits ? state < OFF_KINDS : state <= OFF_BLOCKED;
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
  if (state < OFF_KINDS) ++sums->counts[state & 3];
}

/* Returns a random threshold between half and one and a half periods. Therefore at most two points
 * are within a wait that is shorter than a period.
 */
static __always_inline __u64 draw_threshold(void) {
  const __u64 random = bpf_get_prandom_u32() >> 8;
  return period_ns / 2 + (random * period_ns >> 24);
}

/* Ends the thread's previous window at the edge, and begins this one. */
static __always_inline void begin_window(struct off_thread* thread, __u32 number) {
  const __u64 edge = window_opened[number % OFF_WINDOWS];
  const __u64 before = window_opened[(number - 1) % OFF_WINDOWS];
  struct off_sums* last = &thread->sums[(number - 1) & 1];
  struct off_sums* next = &thread->sums[number & 1];
  if (thread->window != number - 1) { /* no event occurred in the previous window */
    __builtin_memset(last, 0, sizeof *last);
    if (thread->since < before) thread->since = before;
    if (thread->away < before) thread->away = before;
  }
  if (thread->since < edge) {
    add_time(last, thread->state, edge - thread->since);
    thread->since = edge;
  }
  if (thread->away < edge) {
    if (thread->state < OFF_KINDS) add_wait(last, edge - thread->away);
    thread->away = edge;
  }
  __builtin_memset(next, 0, sizeof *next);
  if (thread->since > edge && thread->born < edge) { /* the state ended slightly after the event */
    last->ns[OFF_RUNS] -= thread->since - edge;
    next->ns[OFF_RUNS] += thread->since - edge;
  }
  thread->carried = thread->uncharged = thread->charge = 0;
  thread->until = draw_threshold();
  thread->window = number;
}

/* Charges a finished wait to stacks. A long wait is charged to its own stack. Otherwise a stack is
 * due at random points of the concatenated waiting time, and is charged with the time between its
 * point and the previous one. Therefore places are sampled in proportion to the time that is spent
 * there. */
static __always_inline void charge(struct off_thread* thread) {
  const __u64 waited = thread->uncharged;
  thread->uncharged = 0;
  if (waited == 0) return;
  if (every_stack || waited >= period_ns) {
    thread->charge += waited;
    return;
  }
  thread->carried += waited;
  if (thread->carried < thread->until) return;
  thread->charge += thread->until;
  thread->carried -= thread->until;
  thread->until = draw_threshold();
  if (thread->carried < thread->until) return;
  thread->charge += thread->until;
  thread->carried -= thread->until;
  thread->until = draw_threshold();
}

/* Changes the state of a thread, and accounts for the time in the old state. */
static __always_inline void enter(struct off_thread* thread, __u32 state, __u64 now, int odd) {
  const __u32 number = window_at(now);
  thread->version++;
  barrier();
  if (thread->window != number) begin_window(thread, number);
  const __u32 old = thread->state;
  const __u64 length = now > thread->since ? now - thread->since : 0;
  if (now < thread->since) now = thread->since; /* the clocks of two CPUs differ */
  struct off_sums* sums = &thread->sums[number & 1];
  sums->odd += odd;
  add_time(sums, old, length);
  if (old < OFF_KINDS && is_charged(old)) thread->uncharged += length;
  if (old >= OFF_KINDS && state < OFF_KINDS) thread->away = now;
  if (old < OFF_KINDS && state >= OFF_KINDS) {
    add_wait(sums, now - thread->away);
    charge(thread);
  }
  thread->since = now;
  thread->state = state;
  thread->events++;
  barrier();
  thread->version++;
}

#endif
