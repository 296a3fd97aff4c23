/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Runs at each sample, and drops it unless the thread belongs to a process that the user may
 * inspect.
 *
 * See also: plugins/shared/own_user.bpf.h, which decides; own_process_filter.hpp, which attaches
 * it.
 */
#include "plugins/shared/own_user.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("perf_event")
int is_own_process(void* sample) { return may_show_stack((void*)bpf_get_current_task()); }
