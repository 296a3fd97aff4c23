/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Samples one thread, and copies the result into a record. The program that visits all threads and
 * the one that samples threads again share this code.
 */
#ifndef CTPROF_SLEEPERS_SLEEPER_SAMPLE_BPF_H
#define CTPROF_SLEEPERS_SLEEPER_SAMPLE_BPF_H

#include "kernel.h"
#include "plugins/shared/own_user.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sleeper_sample.h"

enum {
  kKernelThread = 0x00200000, /* PF_KTHREAD of linux/sched.h */
  kUserWorker = 0x00000010,   /* PF_IO_WORKER: a thread of a process that has no user part */
  k64BitCodeSegment = 0x33,   /* __USER_CS of x86_64 */
  k32BitModeFlag = 0x10       /* PSR_MODE32_BIT of aarch64 */
};

static __always_inline int is_asleep(struct task_struct* task) {
  return !task->on_cpu && task->__state != 0 && task->exit_state == 0;
}

static __always_inline __u64 count_switches(struct task_struct* task) {
  return task->nvcsw + task->nivcsw;
}

static __always_inline void copy_memory(struct sleeper_sample* out, struct task_struct* task) {
  struct mm_struct* mm = 0;
  bpf_core_read(&mm, sizeof mm, &task->mm);
  out->memory = (__u64)mm;
  out->code_pages = BPF_CORE_READ(mm, exec_vm);
  out->start_stack = BPF_CORE_READ(mm, start_stack);
  out->execs = task->self_exec_id;
}

static __always_inline void copy_thread_pointer(struct sleeper_sample* out,
                                                struct task_struct* task) {
  struct task_struct___aarch64* aarch64_task = (void*)task;
  out->thread_pointer = 0;
  if (bpf_core_field_exists(task->thread.fsbase))
    out->thread_pointer = task->thread.fsbase;
  else if (bpf_core_field_exists(aarch64_task->thread.uw.tp_value))
    bpf_core_read(&out->thread_pointer, sizeof out->thread_pointer,
                  &aarch64_task->thread.uw.tp_value);
}

static __always_inline void copy_registers(struct sleeper_sample* out, struct task_struct* task) {
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  struct pt_regs___aarch64* aarch64_registers = (void*)regs;
  if (bpf_core_field_exists(regs->ip)) {
    out->ip = BPF_CORE_READ(regs, ip);
    out->sp = BPF_CORE_READ(regs, sp);
    out->bp = BPF_CORE_READ(regs, bp);
    out->lr = BPF_CORE_READ(regs, di);
    if (BPF_CORE_READ(regs, cs) != k64BitCodeSegment) out->head.flags |= SAMPLE_32_BIT;
  } else if (bpf_core_field_exists(aarch64_registers->pc)) {
    out->ip = BPF_CORE_READ(aarch64_registers, pc);
    out->sp = BPF_CORE_READ(aarch64_registers, sp);
    out->bp = BPF_CORE_READ(aarch64_registers, regs[29]);
    out->lr = BPF_CORE_READ(aarch64_registers, regs[30]);
    if (BPF_CORE_READ(aarch64_registers, pstate) & k32BitModeFlag) out->head.flags |= SAMPLE_32_BIT;
  } else {
    out->head.flags |= SAMPLE_32_BIT;
  }
}

static __always_inline void copy_user(struct sleeper_sample* out, struct task_struct* task) {
  if (task->flags & (kKernelThread | kUserWorker)) {
    out->head.flags |= SAMPLE_KERNEL_THREAD;
    return;
  }
  copy_memory(out, task);
  copy_thread_pointer(out, task);
  copy_registers(out, task);
  if (out->ip == 0 && out->sp == 0)
    out->head.flags |= SAMPLE_KERNEL_THREAD; /* a worker, such as one of vhost */
}

/* Returns the size of the kernel stack in bytes. */
static __always_inline __u32 copy_kernel(struct sleeper_sample* out, struct task_struct* task) {
  const long size_read = bpf_get_task_stack(task, out->kernel, SAMPLE_MAX_FRAMES * 8, 0);
  return size_read > 0 ? size_read : 0;
}

/* Returns the size of the kernel stack in bytes. If state and switches are unchanged at the end,
 * the thread slept all the time. Otherwise it ran meanwhile; returns a negative number. */
static __always_inline long take_sample(struct sleeper_sample* out, struct task_struct* task) {
  const __u64 switches = count_switches(task);
  if (!may_show_stack(task)) return -1;
  out->head.flags = 0;
  out->head.tid = task->pid;
  out->head.tgid = task->tgid;
  out->head.start_boottime = task->start_boottime;
  out->switches = switches;
  out->state = task->__state;
  copy_user(out, task);
  const __u32 bytes = copy_kernel(out, task);
  out->frames = bytes / 8;
  return is_asleep(task) && count_switches(task) == switches ? (long)bytes : -1;
}

#endif
