/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Selects the followed threads: all, or those of some processes, or of one cgroup and its
 * descendants. The decision is made once for each thread, when it is first seen; a selected thread
 * is followed until it exits.
 */
#ifndef CTPROF_OFF_CPU_WANTED_BPF_H
#define CTPROF_OFF_CPU_WANTED_BPF_H

#include "thread.bpf.h"

/* Whether only some processes are selected, and which. */
const volatile __u32 only_processes = 0;
/* Whether processes that these fork are followed, and their descendants. */
const volatile __u32 follows_children = 0;
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, __u32);
  __type(value, __u8);
} processes SEC(".maps");

/* The id of the selected cgroup, in the unified hierarchy; 0: none is selected. */
const volatile __u64 only_cgroup = 0;

/* The purpose of the current pass; there is only one at a time. */
__u32 iterator_purpose = OFF_FIRST_PASS;

enum { kMaxDepth = 32 }; /* levels below it */

/* A restarted service may get a cgroup with the same name and another id. Therefore threads in
 * cgroups that were created since the first pass are followed, too, and ctprof decides by the name.
 */
static __u64 newest_cgroup = 0;

static __always_inline struct cgroup* cgroup_of(struct task_struct* task) {
  return BPF_CORE_READ(task, cgroups, dfl_cgrp);
}

static __always_inline void note_newest_cgroup(struct task_struct* task) {
  if (!only_cgroup) return;
  const __u64 number = BPF_CORE_READ(cgroup_of(task), self.serial_nr);
  if (number > newest_cgroup) newest_cgroup = number;
}

/* Searches the parents, because the field with the ancestors of a cgroup has changed (Linux 6.1).
 */
static __noinline int is_in_cgroup(struct task_struct* task) {
  struct cgroup* cgroup = cgroup_of(task);
  if (iterator_purpose != OFF_FIRST_PASS && BPF_CORE_READ(cgroup, self.serial_nr) > newest_cgroup)
    return 1;
  for (int i = 0; i < kMaxDepth && cgroup; ++i) {
    if (BPF_CORE_READ(cgroup, kn, id) == only_cgroup) return 1;
    cgroup = BPF_CORE_READ(cgroup, self.parent, cgroup);
  }
  return 0;
}

static __always_inline int is_selected(struct task_struct* task) {
  __u32 tgid = task->tgid;
  if (only_processes && !bpf_map_lookup_elem(&processes, &tgid)) return 0;
  return !only_cgroup || is_in_cgroup(task);
}

/* Follows a new process if its parent is followed. Its id may be that of an earlier process, which
 * was followed.
 */
static __always_inline void follow_child(struct task_struct* task, __u32 parent) {
  __u32 tgid = task->tgid;
  const __u8 yes = 1;
  if (!only_processes || !follows_children || task->pid != task->tgid) return;
  if (!bpf_map_lookup_elem(&processes, &parent))
    bpf_map_delete_elem(&processes, &tgid);
  else if (bpf_map_update_elem(&processes, &tgid, &yes, BPF_ANY) != 0)
    count(OFF_UNKNOWN_THREADS);
}

/* Stops following the process, unless other threads outlive their leader. */
static __always_inline void stop_following_process(struct task_struct* task) {
  __u32 tgid = task->tgid;
  if (follows_children && task->pid == task->tgid && BPF_CORE_READ(task, signal, nr_threads) <= 1)
    bpf_map_delete_elem(&processes, &tgid);
}

#endif
