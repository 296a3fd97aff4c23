/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Looks up the address of the kernel's scheduling class of BPF schedulers. It runs once, on demand.
 * It is separate from the program that lists threads, so that hosts without a BPF scheduler have no
 * cost, and threads can be listed without permission to see addresses.
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
