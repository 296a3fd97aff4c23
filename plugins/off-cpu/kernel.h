/* The kernel structures that the programs read, with only the fields that they read. The loader
 * adjusts every access to the field's offset in the running kernel (CO-RE), so the order of fields
 * and omitted fields do not matter. Fields that some kernels lack are tested with
 * bpf_core_field_exists.
 */
#ifndef CTPROF_OFF_CPU_KERNEL_H
#define CTPROF_OFF_CPU_KERNEL_H

#include "plugins/shared/kernel_types.h"

enum { PF_KTHREAD = 0x00200000, PF_IO_WORKER = 0x10 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
  __u64 id;
};
struct cgroup;
struct cgroup_subsys_state {
  struct cgroup* cgroup;
  struct cgroup_subsys_state* parent; /* of the parent cgroup */
  __u64 serial_nr;                    /* in the order of creation */
};
struct cgroup {
  struct cgroup_subsys_state self;
  struct kernfs_node* kn;
};
struct css_set {
  struct cgroup* dfl_cgrp;
};

struct mm_struct {
  unsigned long exec_vm; /* mapped pages of code */
};

/* User-space registers, of x86-64 and of arm64. */
struct pt_regs {
  unsigned long bp;
  unsigned long di;
  unsigned long ip;
  unsigned long cs;
  unsigned long sp;
};
struct pt_regs___arm64 {
  __u64 regs[31];
  __u64 sp;
  __u64 pc;
  __u64 pstate;
};

struct rq {
  __u64 clock;
};
struct cfs_rq {
  struct rq* rq; /* CONFIG_FAIR_GROUP_SCHED */
};
struct sched_entity {
  struct cfs_rq* cfs_rq;
  __u64 sum_exec_runtime; /* updated at the switch, when a thread leaves its CPU */
};
struct sched_info {               /* CONFIG_SCHED_INFO */
  unsigned long long last_queued; /* on the clock of the run queue */
};

struct signal_struct {
  int nr_threads;
};

struct task_struct {
  struct sched_entity se;
  struct sched_info sched_info;
  unsigned int __state;
  unsigned int flags;
  unsigned int on_cpu; /* one byte from Linux 7.3 on: an unsigned field may change its size */
  int exit_state;
  int pid;
  int tgid;
  struct task_struct* real_parent;
  void* stack;
  struct mm_struct* mm;
  struct css_set* cgroups;
  struct signal_struct* signal;
  __u64 start_boottime;
};
/* Before Linux 5.14. */
struct task_struct___older {
  long state;
};

#pragma clang attribute pop

#endif
