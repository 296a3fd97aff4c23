/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Asks the kernel where its scheduling class of BPF schedulers is. Run once, by hand; apart from
 * the program that lists threads, so that who has no BPF scheduler loaded does not pay for it, and
 * who may not be told addresses can list threads all the same.
 */
#include "kernel.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("syscall")
int find_ext_class(__u64* found) {
  char name[] = "ext_sched_class";
  __u64 address = 0;
  long error = bpf_kallsyms_lookup_name(name, sizeof name, 0, &address);
  *found = address;
  return error;
}
