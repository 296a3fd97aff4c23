/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The accounts of processes (walk_account.h), and the numbers of successful and failed walks. */
#ifndef CTPROF_SHARED_WALK_BUDGET_BPF_H
#define CTPROF_SHARED_WALK_BUDGET_BPF_H

#include "plugins/shared/walk_scratch.bpf.h"

#include "plugins/shared/walk_account.h"

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, WALK_ACCOUNTS);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, struct walk_account);
} walk_accounts SEC(".maps");

/* Numbers of walks, by CPU: successful ones in [0], failed ones at their reason. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, WALK_REASONS);
  __type(key, __u32);
  __type(value, __u64);
} walk_counts SEC(".maps");

/* The end of a second in which a process has spent its budget; 0: no process has. */
__u64 walk_over_until = 0;

static __always_inline void walk_count(__u32 reason) {
  __u64* value = bpf_map_lookup_elem(&walk_counts, &reason);
  if (value) ++*value;
}

static __always_inline struct walk_account* walk_find_account(__u32 tgid) {
  __u32 slot = walk_account_slot(tgid);
  return bpf_map_lookup_elem(&walk_accounts, &slot);
}

static __always_inline int walk_is_over_budget(__u32 tgid) {
  if (walk_over_until == 0) return 0;
  const __u64 now = bpf_ktime_get_ns();
  if (now >= walk_over_until) {
    walk_over_until = 0;
    return 0;
  }
  struct walk_account* account = walk_find_account(tgid);
  return account && walk_is_refused(account, now);
}

/* Charges a walk. `start_ns` is 0 if the walk was too short to read the clock. */
static __always_inline void walk_charge(__u32 tgid, __u64 start_ns) {
  struct walk_account* account = start_ns != 0 ? walk_find_account(tgid) : 0;
  if (!account) return;
  const __u64 second_end =
      walk_account_charge(account, tgid, start_ns, bpf_ktime_get_ns() - start_ns);
  if (second_end > walk_over_until) walk_over_until = second_end;
}

#endif
