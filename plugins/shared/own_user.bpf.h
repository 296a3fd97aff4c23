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

/* The user of an executable with file capabilities. The reader sets them before recording starts.
 */
__u32 is_elevated = 0; /* 0: the executable has none, and stacks of all processes are recorded */
__u32 elevated_uid = 0;
__u32 elevated_gid = 0;
/* The number of the user namespace of the reader; 0: no stack is recorded. */
__u32 elevated_namespace = 0;

enum { kDumpableBits = 3, kDumpableByUser = 1 }; /* MMF_DUMPABLE_MASK, SUID_DUMP_USER */
enum { kMaxNamespaceLevels = 33 };               /* of the kernel */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct id___owned {
  __u32 val;
};
struct user_namespace___owned {
  struct user_namespace___owned* parent;
  struct id___owned owner;
  struct {
    unsigned int inum;
  } ns;
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

/* Applies the rule of cap_ptrace_access_check(): in the reader's own user namespace, the process
 * must have no capabilities. In another one, the user must own that namespace, or an ancestor of
 * it, whose parent is the reader's. The kernel permits more only to users with CAP_SYS_PTRACE. */
static __always_inline int has_traceable_namespace(struct cred___owned* cred) {
  struct user_namespace___owned* space = BPF_CORE_READ(cred, user_ns);
  __u64 capabilities = ~0ull;
  if (elevated_namespace == 0) return 0;
  bpf_core_read(&capabilities, sizeof capabilities, &cred->cap_permitted);
  if (BPF_CORE_READ(space, ns.inum) == elevated_namespace) return capabilities == 0;
  for (int level = 0; level < kMaxNamespaceLevels; ++level) {
    struct user_namespace___owned* parent = BPF_CORE_READ(space, parent);
    if (!parent) return 0;
    if (BPF_CORE_READ(parent, ns.inum) == elevated_namespace)
      return BPF_CORE_READ(space, owner.val) == elevated_uid;
    space = parent;
  }
  return 0;
}

static __always_inline int may_show_stack(struct task_struct* task) {
  struct task_struct___owned* task_with_credentials = (void*)task;
  if (!is_elevated) return 1;
  struct cred___owned* cred = BPF_CORE_READ(task_with_credentials, real_cred);
  return BPF_CORE_READ(cred, uid.val) == elevated_uid &&
         BPF_CORE_READ(cred, euid.val) == elevated_uid &&
         BPF_CORE_READ(cred, suid.val) == elevated_uid &&
         BPF_CORE_READ(cred, gid.val) == elevated_gid &&
         BPF_CORE_READ(cred, egid.val) == elevated_gid &&
         BPF_CORE_READ(cred, sgid.val) == elevated_gid &&
         is_dumpable_by_user(BPF_CORE_READ(task_with_credentials, mm)) &&
         has_traceable_namespace(cred);
}

#endif
