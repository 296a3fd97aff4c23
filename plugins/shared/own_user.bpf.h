/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Decides whether a thread belongs to a process that a user without capabilities may inspect, by
 * the kernel's rules for ptrace(2) access. The decision is made for each record, because a process
 * may start a setuid program at any time.
 *
 * For recorders that work with the file capabilities of ctprof's executable (elevated_user.hpp). If
 * a field of the kernel has another layout than those below, no process belongs to the user.
 */
#ifndef CTPROF_SHARED_OWN_USER_BPF_H
#define CTPROF_SHARED_OWN_USER_BPF_H

#include "plugins/shared/kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Set by the reader before recording starts; 0: stacks of all processes are recorded. */
__u32 is_lent = 0;
__u32 lent_user = 0;
__u32 lent_group = 0;

enum { kDumpableBits = 3, kDumpableByUser = 1 }; /* MMF_DUMPABLE_MASK, SUID_DUMP_USER */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct id___owned {
  __u32 val;
};
struct user_namespace___owned {
  int level; /* 0: the first one */
};
struct cred___owned {
  struct id___owned uid, euid, suid, gid, egid, sgid;
  struct {
    __u64 bits;
  } cap_permitted;
  struct user_namespace___owned* user_ns;
};
struct mm_struct___word {
  unsigned long flags;
};
struct mm_struct___set { /* since Linux 6.18 */
  struct {
    unsigned long words[1];
  } flags;
};
struct task_struct___owned {
  struct cred___owned* real_cred;
  struct mm_struct___word* mm;
};

#pragma clang attribute pop

static __always_inline int is_dumpable_by_user(struct mm_struct___word* mm) {
  struct mm_struct___set* mm_with_words = (void*)mm;
  __u64 flags = 0;
  if (!mm) return 0;
  if (bpf_core_field_exists(mm->flags))
    bpf_core_read(&flags, sizeof flags, &mm->flags);
  else if (bpf_core_field_exists(mm_with_words->flags))
    bpf_core_read(&flags, sizeof flags, &mm_with_words->flags);
  return (flags & kDumpableBits) == kDumpableByUser;
}

static __always_inline int may_show_stack(struct task_struct* task) {
  struct task_struct___owned* task_with_credentials = (void*)task;
  if (!is_lent) return 1;
  struct cred___owned* cred = BPF_CORE_READ(task_with_credentials, real_cred);
  __u64 capabilities = ~0ull;
  bpf_core_read(&capabilities, sizeof capabilities, &cred->cap_permitted);
  if (capabilities != 0 && BPF_CORE_READ(cred, user_ns, level) == 0) return 0;
  return BPF_CORE_READ(cred, uid.val) == lent_user && BPF_CORE_READ(cred, euid.val) == lent_user &&
         BPF_CORE_READ(cred, suid.val) == lent_user && BPF_CORE_READ(cred, gid.val) == lent_group &&
         BPF_CORE_READ(cred, egid.val) == lent_group &&
         BPF_CORE_READ(cred, sgid.val) == lent_group &&
         is_dumpable_by_user(BPF_CORE_READ(task_with_credentials, mm));
}

#endif
