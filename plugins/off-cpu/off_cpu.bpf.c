/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Programs that follow each thread off its CPU and back: at each switch, each wake-up and each
 * creation, and when a thread resumes, where its stack is recorded if one is due. One more program
 * visits all threads, because sleeping threads cause no events.
 *
 * See also: thread.bpf.h for the effect of events, stack.bpf.h for stacks, programs.cc and waits.cc
 * for loading and reading.
 */
#include "stack.bpf.h"
#ifndef OFF_CPU_WITHOUT_WALK
#include "walked_stack.bpf.h"
#endif
#include "selection.bpf.h"
#include "snapshot.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum { kMaxCorrectionNs = 1000000 };

static const struct off_thread empty_state;

static __always_inline void set_origin(struct off_thread* thread, struct task_struct* task) {
  thread->origin.start_boottime = task->start_boottime;
  thread->origin.tid = task->pid;
  thread->origin.unused = 0;
}

/* Returns the state of a thread, which is set to `first` if it was not known. Returns null if the
 * thread is not selected. */
static __always_inline struct off_thread* follow_thread(struct task_struct* task,
                                                        const struct off_thread* first) {
  if (!is_selected(task)) return 0;
  struct off_thread* thread = 0;
  if (has_task_storage) {
    thread = bpf_task_storage_get(&threads, task, (void*)first, BPF_LOCAL_STORAGE_GET_F_CREATE);
  } else {
    __u32 tid = task->pid;
    bpf_map_update_elem(&threads_by_tid, &tid, first, BPF_NOEXIST);
    thread = bpf_map_lookup_elem(&threads_by_tid, &tid);
  }
  thread ? set_origin(thread, task) : count(OFF_UNKNOWN_THREADS);
  if (has_histograms && thread)
    bpf_task_storage_get(&histograms, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  return thread;
}

static __always_inline void copy_exit_histograms(struct task_struct* task,
                                                 struct off_exit_histograms* out) {
  struct off_histogram_pair* of = find_histograms(task);
  out->is_known = of && bpf_probe_read_kernel(&out->histograms, sizeof out->histograms, of) == 0;
}

/* Reports an exiting thread. Its values are final, and its state can no longer be found. */
static __always_inline void write_exit(struct task_struct* task, struct off_thread* thread,
                                       __u64 now) {
  struct off_exit* out = 0;
  if (thread->window != 0)
    out = has_histograms
              ? bpf_ringbuf_reserve(&other_records, sizeof(struct off_exit_histograms), 0)
              : bpf_ringbuf_reserve(&other_records, sizeof *out, 0);
  if (out) {
    if (has_histograms) copy_exit_histograms(task, (struct off_exit_histograms*)out);
    out->kind = OFF_EXIT;
    out->unused = 0;
    copy_identity(&out->identity, task);
    out->at = now;
    __builtin_memcpy(&out->thread, thread, sizeof out->thread);
    bpf_ringbuf_submit(out, BPF_RB_NO_WAKEUP);
  } else if (thread->window != 0) {
    count(OFF_LOST_EXITS);
  }
  if (has_task_storage) return;
  __u32 tid = task->pid;
  bpf_map_delete_elem(&threads_by_tid, &tid);
}

/* Returns when a thread left its CPU, by the kernel's accounting of its run time. That ends before
 * the kernel selects the next thread, which may take longer than a short wait, and excludes steal
 * time. It also begins slightly before the program runs when the thread arrives. Therefore the
 * result may be slightly after `now`, and the next state begins then. */
static __always_inline __u64 departure_time(struct task_struct* task, struct off_thread* thread,
                                            __u64 now) {
  if (thread->state != OFF_RUNNING || thread->arrival == 0) return now;
  const __u64 left = thread->arrival + (task->se.sum_exec_runtime - thread->run_time_at_arrival);
  if (left > now + kMaxCorrectionNs) return now;
  return left > thread->state_start ? left : thread->state_start;
}

static __always_inline void arrive(struct task_struct* task, struct off_thread* thread, __u64 now) {
  enter_state(task, thread, OFF_RUNNING, now,
              thread->state == OFF_RUNNING || thread->state <= OFF_BLOCKED);
  thread->arrival = thread->state_start;
  thread->run_time_at_arrival = task_field(task, se.sum_exec_runtime);
}

/* Reconstructs a wake-up. A kernel may hide threads, and runs no program while one of them is on a
 * CPU, so the wake-up of a thread may have been missed. The scheduler stores when the thread
 * entered the run queue. */
static __always_inline void reconstruct_wakeup(struct task_struct* task, struct off_thread* thread,
                                               __u64 now) {
  if (!bpf_core_field_exists(task->se.cfs_rq) ||
      !bpf_core_field_exists(task->sched_info.last_queued))
    return;
  const __u64 queued = task->sched_info.last_queued;
  const __u64 clock = BPF_CORE_READ(task, se.cfs_rq, rq, clock);
  if (queued == 0 || clock <= queued || clock - queued > now - thread->state_start) return;
  enter_state(task, thread, OFF_QUEUED, now - (clock - queued), 1);
}

/* Reconstructs a missed switch to the thread: it has run since then, for as long as the scheduler's
 * run time shows. */
static __always_inline void reconstruct_arrival(struct task_struct* task, struct off_thread* thread,
                                                __u64 now) {
  const __u64 ran = task->se.sum_exec_runtime - thread->run_time_at_arrival;
  const __u64 waited = now - thread->state_start;
  arrive(task, thread, ran < waited ? now - ran : thread->state_start);
}

static __always_inline void leave(struct task_struct* task, __u64 now, int preempted, __u64 bits) {
  struct off_thread* thread = find_thread(task);
  if (!thread) return;
  const int is_unexpected = thread->state < OFF_WAIT_STATES;
  is_unexpected ? reconstruct_arrival(task, thread, now)
                : (void)(now = departure_time(task, thread, now));
  thread->run_time_at_arrival = task->se.sum_exec_runtime;
  if (bits & kDead) {
    stop_following_process(task);
    enter_state(task, thread, OFF_EXITED, now, is_unexpected);
    write_exit(task, thread, now);
    return;
  }
  enter_state(task, thread, preempted || bits == 0 ? OFF_PREEMPTED : blocked_state(bits), now,
              is_unexpected);
}

SEC("tp_btf/sched_switch")
int on_switch(__u64* arguments) { /* preempted or not, previous, next, previous state */
  struct task_struct* previous = (struct task_struct*)arguments[1];
  struct task_struct* next = (struct task_struct*)arguments[2];
  const __u64 now = bpf_ktime_get_ns();
  __u64 bits = state_bits(previous);
  /* A waker may have changed the state since. It is 0 only if the thread was not put to sleep,
   * because a signal was pending. */
  if (has_previous_state && bits != 0) bits = (__u32)arguments[3];
  struct off_per_cpu* cpu = this_cpu();
  if (!cpu) return 0; /* never happens, but the verifier requires the check */
  ++cpu->counters[OFF_SWITCHES];
  if (previous->pid != 0) leave(previous, now, (__u8)arguments[0], bits);
  struct off_thread* arriving = next->pid != 0 ? find_thread(next) : 0;
  if (arriving && arriving->state <= OFF_BLOCKED) reconstruct_wakeup(next, arriving, now);
  if (arriving) arrive(next, arriving, now);
  cpu->task = (__u64)next;
  cpu->due = arriving && arriving->due_weight != 0;
  return 0;
}

SEC("tp_btf/sched_wakeup")
int on_wakeup(__u64* arguments) { /* the thread; the current thread is the waker */
  struct task_struct* task = (struct task_struct*)arguments[0];
  struct off_thread* thread = find_thread(task);
  if (!thread) return 0;
  if (thread->state > OFF_BLOCKED && thread->state != OFF_UNKNOWN)
    return 0; /* was not asleep yet */
  enter_state(task, thread, OFF_QUEUED, bpf_ktime_get_ns(), 0);
  count(OFF_WAKEUPS);
  return 0;
}

static __always_inline void write_process(__u32 kind, struct task_struct* task, __u32 parent) {
  struct off_process* out = bpf_ringbuf_reserve(&other_records, sizeof *out, 0);
  if (!out) return count(OFF_LOST_CHANGES);
  out->kind = kind;
  out->tgid = task->tgid;
  out->parent = parent;
  out->unused = 0;
  out->at = bpf_ktime_get_ns();
  bpf_ringbuf_submit(out, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/sched_wakeup_new")
int on_wakeup_new(__u64* arguments) { /* the thread */
  struct task_struct* task = (struct task_struct*)arguments[0];
  follow_child(task, BPF_CORE_READ(task, real_parent, tgid));
  struct off_thread* thread = follow_thread(task, &empty_state);
  if (!thread) return 0;
  const __u64 now = bpf_ktime_get_ns();
  if (!has_task_storage) { /* data of an earlier thread with the same id */
    __builtin_memset(thread, 0, sizeof *thread);
    set_origin(thread, task);
  }
  thread->created = thread->state_start = thread->departure = now;
  thread->state = OFF_UNKNOWN;
  thread->run_time_at_arrival = task->se.sum_exec_runtime;
  enter_state(task, thread, OFF_QUEUED, now, 0);
  if (task->pid == task->tgid && window_number != 0)
    write_process(OFF_FORK, task, BPF_CORE_READ(task, real_parent, tgid));
  return 0;
}

/* Moves the state of a thread that is not the leader, and whose tid the kernel has just changed to
 * its leader's. */
static __always_inline void follow_id(struct task_struct* task, __u32 old) {
  __u32 tid = task->pid;
  struct off_thread* thread = tid != old ? bpf_map_lookup_elem(&threads_by_tid, &old) : 0;
  if (!thread) return;
  bpf_map_update_elem(&threads_by_tid, &tid, thread, BPF_ANY);
  bpf_map_delete_elem(&threads_by_tid, &old);
}

SEC("tp_btf/sched_process_exec")
int on_exec(__u64* arguments) { /* the thread, and its tid before */
  struct task_struct* task = (struct task_struct*)arguments[0];
  if (!has_task_storage) follow_id(task, (__u32)arguments[1]);
  if (window_number != 0 && find_thread(task)) write_process(OFF_EXEC, task, 0);
  return 0;
}

static __always_inline struct task_struct* current_task(void) {
  return has_task_storage ? bpf_get_current_task_btf() : (void*)bpf_get_current_task();
}

/* Returns the current thread if its stack is due; null otherwise. */
static __always_inline struct off_thread* due_thread(struct task_struct* task) {
  struct off_per_cpu* cpu = this_cpu();
  if (!cpu || (cpu->task == (__u64)task && !cpu->due)) return 0; /* the usual case */
  struct off_thread* thread = find_thread(task);
  if (!thread) return 0;
  cpu->due = 0;
  /* Its arrival was missed: see reconstruct_wakeup. */
  if (thread->state < OFF_WAIT_STATES) arrive(task, thread, bpf_ktime_get_ns());
  return thread->due_weight != 0 ? thread : 0;
}

static __always_inline int resume(void* breakpoint) {
  struct task_struct* task = current_task();
  struct off_thread* thread = due_thread(task);
  if (thread) write_stack(breakpoint, task, thread, 0);
  return 0;
}

/* Only one of these is attached: the first that the kernel supports. */
SEC("tp_btf/sched_exit_tp")
int on_resume(__u64* arguments) { return resume(0); }

SEC("fexit/schedule")
int on_resume_fexit(__u64* arguments) {
  return has_task_storage ? resume(0) : resume(arguments); /* see task_field */
}

#ifndef OFF_CPU_WITHOUT_WALK
/* The same for kernels that support the walk of user stacks. */
static __always_inline int resume_walked(void) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct off_thread* thread = due_thread(task);
  if (thread) write_walked_stack(task, thread);
  return 0;
}

SEC("tp_btf/sched_exit_tp")
int on_resume_walked(__u64* arguments) { return resume_walked(); }

SEC("fexit/schedule")
int on_resume_fexit_walked(__u64* arguments) { return resume_walked(); }
#endif

SEC("kprobe")
int on_resume_kprobe(void* registers) { return resume(registers); }

/* Returns the state of a thread from the kernel's fields. It may be wrong for threads that are
 * being switched. */
static __always_inline __u32 read_state(struct task_struct* task) {
  const __u64 bits = state_bits(task);
  if (task->on_cpu) return OFF_RUNNING;
  return bits == 0 || bits == kWaking ? OFF_QUEUED : blocked_state(bits);
}

/* Kernels before 5.12 reject a program that contains such an instruction, even if it never runs.
 * There an event between both halves is lost. */
static __always_inline void replace(__u32* state, __u32 old, __u32 new, int atomic) {
  if (atomic)
    __sync_val_compare_and_swap(state, old, new);
  else if (*(volatile __u32*)state == old)
    *(volatile __u32*)state = new;
}

/* Follows a thread that moved into the cgroup from now on, in any state. `first` contains its
 * initial state, before an event on another CPU can change it. */
static __always_inline void follow_moved_thread(struct task_struct* task, struct off_thread* first,
                                                int atomic) {
  if (find_thread(task)) return;
  __builtin_memset(first, 0, sizeof *first);
  first->created = first->state_start = first->departure = bpf_ktime_get_ns();
  first->run_time_at_arrival = task->se.sum_exec_runtime;
  first->state = OFF_UNKNOWN;
  struct off_thread* thread = follow_thread(task, first);
  if (thread) replace(&thread->state, OFF_UNKNOWN, read_state(task), atomic);
}

/* Runs one at a time, because the kernel holds a lock. For a process with several threads the
 * kernel reports only the leader; the reader makes a pass over the others. */
SEC("tp_btf/cgroup_attach_task")
int on_move(__u64* arguments) { /* destination, path, thread, whether all threads move */
  static struct off_thread first;
  struct task_struct* task = (struct task_struct*)arguments[2];
  if (iterator_purpose == OFF_FIRST_PASS || !is_selected(task)) return 0;
  follow_moved_thread(task, &first, has_task_storage);
  if ((__u8)arguments[3] && BPF_CORE_READ(task, signal, nr_threads) > 1) count(OFF_CGROUP_MOVES);
  return 0;
}

/* Does not overwrite the state of an event that occurs meanwhile, because that is more accurate. */
static __always_inline void create_state(struct task_struct* task, int atomic) {
  note_newest_cgroup(task);
  struct off_thread* thread = find_thread(task);
  if (thread) return; /* it was created since */
  thread = follow_thread(task, &empty_state);
  if (!thread) return;
  if (thread->events == 0) replace(&thread->state, 0, OFF_UNKNOWN, atomic);
  barrier();
  replace(&thread->state, OFF_UNKNOWN, read_state(task), atomic);
  thread->events_at_first_pass = thread->events;
}

/* Updates threads that had no event since the first pass: the kernel's state of them is stable now.
 */
static __always_inline void correct_state(struct task_struct* task, int atomic) {
  struct off_thread* thread = find_thread(task);
  if (!thread || thread->created != 0 || thread->events != thread->events_at_first_pass) return;
  if (task->exit_state != 0) return;
  const __u32 old = thread->state;
  const __u32 state = read_state(task);
  const int fits = old == state || (old == OFF_PREEMPTED && state == OFF_QUEUED);
  if (!fits) replace(&thread->state, old, state, atomic);
}

static __always_inline int run_pass(struct bpf_iter__task* ctx, int atomic) {
  static struct off_thread first;
  struct task_struct* task = ctx->task;
  if (!task) return 0;
  switch (iterator_purpose) {
    case OFF_FIRST_PASS:
      if (task->exit_state == 0) create_state(task, atomic);
      break;
    case OFF_SECOND_PASS: correct_state(task, atomic); break;
    case OFF_FOLLOW_MOVED:
      if (task->exit_state == 0) follow_moved_thread(task, &first, atomic);
      break;
    case OFF_COLLECT: write_snapshot(ctx, task); break;
    case OFF_LIST_PROCESSES: write_process_id(ctx, task); break;
    default: write_check(ctx, task);
  }
  return 0;
}

/* One of these is loaded: states are in task storage, or, on older kernels, in a map by tid. */
SEC("iter/task")
int visit_with_storage(struct bpf_iter__task* ctx) { return run_pass(ctx, 1); }

SEC("iter/task")
int visit_without_storage(struct bpf_iter__task* ctx) { return run_pass(ctx, 0); }
