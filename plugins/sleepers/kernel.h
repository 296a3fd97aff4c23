/* The kernel structures that the programs read, with only the fields that they read. The loader
 * adjusts every access to the field's offset in the running kernel (CO-RE). Fields that some
 * kernels lack are tested with bpf_core_field_exists.
 */
#ifndef CTPROF_SLEEPERS_KERNEL_H
#define CTPROF_SLEEPERS_KERNEL_H

#include "plugins/shared/kernel_types.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct mm_struct {
  unsigned long exec_vm; /* pages of code */
  unsigned long start_stack;
};

struct thread_struct {
  unsigned long fsbase; /* x86_64 */
};

struct task_struct {
  unsigned int on_cpu; /* one byte from Linux 7.3 on: an unsigned field may change its size */
  unsigned int __state;
  unsigned int flags;
  int exit_state;
  struct mm_struct* mm;
  int pid;
  int tgid;
  unsigned long nvcsw;
  unsigned long nivcsw;
  __u64 start_boottime;
  __u64 self_exec_id; /* 32 bits before Linux 5.7 */
  struct thread_struct thread;
};

struct pt_regs { /* x86_64 */
  unsigned long bp;
  unsigned long di;
  unsigned long ip;
  unsigned long cs;
  unsigned long sp;
};

/* The same for aarch64. */
struct pt_regs___aarch64 {
  __u64 regs[31];
  __u64 sp;
  __u64 pc;
  __u64 pstate;
};
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
