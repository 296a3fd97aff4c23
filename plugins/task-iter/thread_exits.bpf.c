/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Programs that record exiting threads: each thread is copied at its last switch, when its counters
 * are final. At sched_process_exit, the more obvious hook, a thread still has to run for most of a
 * millisecond.
 *
 * Contents: the last record of a thread, execs by threads that are not leaders, descendants of the
 * window's command, and the names of cgroups, which may be removed before the reader looks them up.
 * See also: copy.bpf.h for the copying, exited_threads.cc for the reading.
 */
#include "copy.bpf.h"

#include "exit_records.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Number of threads that exited and whose record did not fit. */
__u64 lost = 0;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 16 << 20);
} exit_records SEC(".maps");

/* Cgroups whose names were already sent to the reader. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, __u64);
  __type(value, __u8);
} known_cgroups SEC(".maps");

/* Threads that descend from the command. The command is marked before it runs, and children inherit
 * the mark. */
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, __u8);
} descendants SEC(".maps");

/* Processes whose children are followed, and these children. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, EXIT_MAX_FOLLOWED_PROCESSES);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u32);
  __type(value, __u8);
} followed_tgids SEC(".maps");

static __always_inline int is_followed(__u32 tgid) {
  return bpf_map_lookup_elem(&followed_tgids, &tgid) != 0;
}

struct delays_buffer {
  char bytes[kDelaysBufferSize];
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct delays_buffer);
} delays_buffers SEC(".maps");

enum { kDead = 0x80 }; /* TASK_DEAD of linux/sched.h */

static __always_inline struct kernfs_node* find_parent(struct kernfs_node* node) {
  struct kernfs_node___rcu* newer = (void*)node;
  if (bpf_core_field_exists(newer->__parent)) return BPF_CORE_READ(newer, __parent);
  return BPF_CORE_READ(node, parent);
}

static __always_inline void write_cgroup_name(struct kernfs_node* node, __u64 id) {
  __u8 yes = 1;
  if (bpf_map_lookup_elem(&known_cgroups, &id)) return;
  struct exit_record_cgroup* record = bpf_ringbuf_reserve(&exit_records, sizeof *record, 0);
  if (!record) return; /* retried at the next exit */
  record->kind = EXIT_RECORD_CGROUP;
  record->unused = 0;
  record->id = id;
  for (int level = 0; level < EXIT_CGROUP_LEVELS; ++level) {
    record->names[level][0] = 0;
    if (!node) continue;
    bpf_probe_read_kernel_str(record->names[level], EXIT_CGROUP_NAME_SIZE,
                              BPF_CORE_READ(node, name));
    node = find_parent(node);
  }
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  bpf_map_update_elem(&known_cgroups, &id, &yes, BPF_NOEXIST);
}

static __always_inline void copy_process(struct exit_record_thread* out, struct task_struct* task) {
  struct task_struct* leader = 0;
  bpf_core_read(&leader, sizeof leader, &task->group_leader);
  bpf_core_read(out->pcomm, sizeof out->pcomm, &leader->comm);
  out->maxrss = BPF_CORE_READ(task, signal, maxrss);
}

SEC("tp_btf/sched_switch")
int on_last_switch(__u64* arguments) { /* preempted or not, previous, next */
  struct task_struct* task = (struct task_struct*)arguments[1];
  __u32 first = 0;
  struct kernfs_node* node = 0;
  if (!(task->__state & kDead)) return 0;
  node = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn);
  const __u64 id = BPF_CORE_READ(node, id);
  write_cgroup_name(node, id); /* before the record, so that the reader already has the name */
  struct delays_buffer* buffer = bpf_map_lookup_elem(&delays_buffers, &first);
  if (!buffer)
    return 0; /* never happens, but the verifier requires the check, before the record is
               * reserved */
  struct exit_record_thread* out = bpf_ringbuf_reserve(&exit_records, EXIT_RECORD_THREAD_SIZE, 0);
  if (!out) {
    __sync_fetch_and_add(&lost, 1);
    return 0;
  }
  __builtin_memset(out, 0, EXIT_RECORD_THREAD_SIZE);
  out->kind = EXIT_RECORD_THREAD;
  copy_identity(&out->task, task);
  if (bpf_task_storage_get(&descendants, task, 0, 0)) out->task.properties |= RECORD_OF_COMMAND;
  if (is_followed(task->tgid)) out->task.properties |= RECORD_OF_FOLLOWED;
  copy_process(out, task);
  copy_scheduling(&out->task, task);
  copy_times(&out->task, task);
  out->task.now_boottime = bpf_ktime_get_boot_ns();
  copy_io(&out->task, task);
  copy_delays(&out->task, task, buffer->bytes);
  copy_statistics(&out->task, task);
  out->task.cgroup_id = id;
  bpf_ringbuf_submit(out, BPF_RB_NO_WAKEUP);
  return 0;
}

SEC("tp_btf/sched_process_exec")
int on_exec(__u64* arguments) { /* the thread, its previous id, the program */
  struct task_struct* task = (struct task_struct*)arguments[0];
  const int old_tid = arguments[1];
  if (task->pid == old_tid) return 0;
  struct exit_record_exec* out = bpf_ringbuf_reserve(&exit_records, sizeof *out, 0);
  if (!out) return 0;
  out->kind = EXIT_RECORD_EXEC;
  out->tgid = task->tgid;
  out->tid = old_tid;
  out->is_followed_child = is_followed(task->tgid);
  out->at_boottime = bpf_ktime_get_boot_ns();
  bpf_ringbuf_submit(out, BPF_RB_NO_WAKEUP);
  return 0;
}

/* Returns whether the new process is followed, because its parent is. Its id may be that of an
 * earlier process, which was followed. */
static __always_inline int follow_child(__u32 parent, __u32 child) {
  const __u8 yes = 1;
  if (is_followed(parent)) return bpf_map_update_elem(&followed_tgids, &child, &yes, BPF_ANY) == 0;
  bpf_map_delete_elem(&followed_tgids, &child);
  return 0;
}

SEC("tp_btf/sched_process_fork")
int on_fork(__u64* arguments) { /* the parent, the child */
  struct task_struct* parent = (struct task_struct*)arguments[0];
  struct task_struct* child = (struct task_struct*)arguments[1];
  const int is_descendant = bpf_task_storage_get(&descendants, parent, 0, 0) != 0;
  if (is_descendant) bpf_task_storage_get(&descendants, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (child->pid != child->tgid) return 0;
  if (!follow_child(parent->tgid, child->tgid) && !is_descendant) return 0;
  struct exit_record_fork* out = bpf_ringbuf_reserve(&exit_records, sizeof *out, 0);
  if (!out) return 0; /* the process is still marked, and its exit record shows it */
  out->kind = EXIT_RECORD_FORK;
  out->tgid = child->tgid;
  out->start_boottime = child->start_boottime;
  bpf_ringbuf_submit(out, BPF_RB_NO_WAKEUP);
  return 0;
}

/* The id is free now. */
SEC("tp_btf/sched_process_free")
int on_free(__u64* arguments) { /* the thread */
  struct task_struct* task = (struct task_struct*)arguments[0];
  __u32 tgid = task->tgid;
  if (task->pid == task->tgid) bpf_map_delete_elem(&followed_tgids, &tgid);
  return 0;
}
