/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Returns the name of the kernel function at an address, even if /proc/kallsyms hides addresses
 * from the user. It runs once per address (Linux 5.14).
 *
 * See also: tracing_frames.hpp, which compares the names.
 */
#include "plugins/shared/kernel_types.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by the reader before each run. */
__u64 address = 0;
/* The result of the program, terminated by NUL. */
char name[128] = {};

SEC("syscall")
int name_address(void* ctx) {
  static const char format[] = "%ps";
  __u64 values[] = {address};
  return bpf_snprintf(name, sizeof name, format, values, sizeof values) < 0;
}
