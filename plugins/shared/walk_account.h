/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Limits the cost of walks of user stacks: if the walks of a process take 2 % of a CPU within a
 * second, its stacks are copied until that second is over.
 *
 * A walk that takes no longer than a copy is not charged. Accounts are found by a hash of the
 * process id; processes that share an account share its limit. The file that includes this one
 * defines __u32 and the other integer types. No function takes a lock: if two CPUs start a second
 * at the same time, a walk may be lost.
 */
#ifndef CTPROF_SHARED_WALK_ACCOUNT_H
#define CTPROF_SHARED_WALK_ACCOUNT_H

enum { WALK_CHEAP_NS = 6 * 1000, WALK_BUDGET_NS = 20 * 1000 * 1000 };
enum { WALK_SECOND_NS = 1000 * 1000 * 1000 };
enum { WALK_ACCOUNT_BITS = 10, WALK_ACCOUNTS = 1 << WALK_ACCOUNT_BITS };

struct walk_account {
  __u64 second_start; /* start of the current second, in ns */
  __u64 spent_ns;
  __u64 refused_walks; /* walks refused since the start of the recording */
  __u32 tgid;          /* the process that was charged most recently */
  __u32 unused;
};

static inline __u32 walk_account_slot(__u32 tgid) {
  return (tgid * 0x9e3779b1u) >> (32 - WALK_ACCOUNT_BITS);
}

/* Returns whether a walk is refused, and counts refusals. */
static inline int walk_is_refused(struct walk_account* account, __u64 now) {
  if (account->spent_ns < WALK_BUDGET_NS || now - account->second_start >= WALK_SECOND_NS) return 0;
  __sync_fetch_and_add(&account->refused_walks, 1);
  return 1;
}

/* Charges a walk. Returns the end of the second if the budget is spent, otherwise 0. */
static inline __u64 walk_account_charge(struct walk_account* account, __u32 tgid, __u64 start,
                                        __u64 duration_ns) {
  if (duration_ns < WALK_CHEAP_NS) return 0;
  if (start - account->second_start >= WALK_SECOND_NS) {
    account->second_start = start;
    account->spent_ns = 0;
  }
  account->tgid = tgid;
  __sync_fetch_and_add(&account->spent_ns, duration_ns);
  return account->spent_ns >= WALK_BUDGET_NS ? account->second_start + WALK_SECOND_NS : 0;
}

#endif
