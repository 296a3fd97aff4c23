/* Minimal sched_ext schedulers, selected by SCX_VARIANT. Without callbacks of its own, a scheduler
 * uses one queue for all CPUs, which is sufficient.
 *
 * Built on the host for one kernel, from that kernel's BTF (schedulers.py).
 */
/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define FULL 1    /* schedules every fair thread */
#define PARTIAL 2 /* schedules only threads of policy SCHED_EXT */
#define REJECT 3  /* refuses threads of that policy */
#define STALL 4   /* runs no thread, until the kernel's watchdog removes it */

#define SCHED_EXT_POLICY 7

char _license[] SEC("license") = "Dual BSD/GPL";

SEC("struct_ops/ctprof_init_task")
int BPF_PROG(ctprof_init_task, struct task_struct* task, struct scx_init_task_args* args) {
  if (SCX_VARIANT == REJECT && task->policy == SCHED_EXT_POLICY) task->scx.disallow = true;
  return 0;
}

#if SCX_VARIANT == STALL
SEC("struct_ops/ctprof_enqueue")
int BPF_PROG(ctprof_enqueue, struct task_struct* task, u64 flags) { return 0; }
#endif

SEC(".struct_ops")
struct sched_ext_ops ctprof_ops = {
    .init_task = (void*)ctprof_init_task,
#if SCX_VARIANT == PARTIAL
    .flags = SCX_OPS_SWITCH_PARTIAL,
#endif
#if SCX_VARIANT == STALL
    .enqueue = (void*)ctprof_enqueue,
    .timeout_ms = 1000,
#endif
    .name = "ctprof_test",
};
