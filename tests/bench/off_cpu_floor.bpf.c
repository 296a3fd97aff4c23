/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* A typical off-CPU tool, for comparison. At each switch: stores when a thread left the CPU in a
 * hash by thread id. When it returns: takes both stacks, and adds the time to a hash by stack ids.
 */
#include "plugins/off-cpu/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum { kStackTrace = 7, kUserStack = 1 << 8, kDepth = 127 };

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 10240);
  __type(key, __u32);
  __type(value, __u64);
} starts SEC(".maps");
struct stack {
  __u64 addresses[kDepth];
};
struct {
  __uint(type, kStackTrace);
  __uint(max_entries, 16384);
  __type(key, __u32);
  __type(value, struct stack);
} stacks SEC(".maps");
struct stack_key {
  __u32 pid, tgid;
  __s32 user, kernel;
  char name[16];
};
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 10240);
  __type(key, struct stack_key);
  __type(value, __u64);
} times SEC(".maps");

SEC("tp_btf/sched_switch")
int on_switch(__u64* arguments) {
  struct task_struct* previous = (struct task_struct*)arguments[1];
  __u32 pid = previous->pid;
  __u64 now = bpf_ktime_get_ns();
  if (pid != 0) bpf_map_update_elem(&starts, &pid, &now, BPF_ANY);
  return 0;
}

SEC("tp_btf/sched_exit_tp")
int on_resume(__u64* arguments) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct stack_key stack_key = {.pid = task->pid, .tgid = task->tgid};
  __u64* start = bpf_map_lookup_elem(&starts, &stack_key.pid);
  if (!start) return 0;
  const __u64 length = bpf_ktime_get_ns() - *start;
  bpf_map_delete_elem(&starts, &stack_key.pid);
  stack_key.user = bpf_get_stackid(arguments, &stacks, kUserStack);
  stack_key.kernel = bpf_get_stackid(arguments, &stacks, 0);
  bpf_get_current_comm(stack_key.name, sizeof stack_key.name);
  __u64* sum = bpf_map_lookup_elem(&times, &stack_key);
  if (sum) {
    __sync_fetch_and_add(sum, length);
  } else {
    bpf_map_update_elem(&times, &stack_key, &length, BPF_NOEXIST);
  }
  return 0;
}
