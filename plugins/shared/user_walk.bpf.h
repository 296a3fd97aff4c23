/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The walk of user stacks (user_walk.h) in a BPF program. Loaded from Linux 6.1 on, where a process
 * keeps its mappings in a maple tree; on x86-64.
 *
 * Contexts. Programs run where a thread was interrupted, also by an NMI, so nothing here waits or
 * takes a lock that the interrupted code may hold:
 *   - array maps and per-CPU arrays: a lookup computes an address. The map of files is
 * preallocated: a lookup follows a list under RCU, and an insertion takes the lock of a bucket only
 * where no code below holds it on this CPU (else it fails, and the file is asked for at a later
 * sample);
 *   - bpf_probe_read_kernel and _user copy with page faults off, and _user asks first whether the
 *     page tables are usable in an NMI: they return an error instead of waiting;
 *   - bpf_perf_event_output writes into a perf ring, as perf itself does in an NMI, and guards its
 *     scratch space by a nesting level;
 *   - bpf_get_current_task_btf, bpf_task_pt_regs, bpf_get_current_pid_tgid and bpf_ktime_get_ns
 * read per-CPU data; the clock has a variant for NMIs, which the helper uses. A program does not
 * interrupt itself on one CPU: the kernel skips a perf program while another is running there. So
 * per-CPU scratch space needs no lock.
 *
 * See also: walk_code.bpf.h (mappings of a process), walk_rules.bpf.h (unwind rules).
 */
#ifndef CTPROF_SHARED_USER_WALK_BPF_H
#define CTPROF_SHARED_USER_WALK_BPF_H

#include "plugins/shared/walk_code.bpf.h"

/* --- memory of the stack --- */

/* Reads a word into the scratch space, and what is near it: the next frames are. */
__attribute__((noinline)) int walk_word_at(__u64 address) {
  struct walk_scratch* scratch = walk_scratch();
  if (!scratch) return 0;
  if ((address & 7) != 0) return bpf_probe_read_user(&scratch->word, 8, (void*)address) == 0;
  if (!scratch->has_window || address - scratch->window_start > WALK_WINDOW - 8) {
    const __u64 page = address & ~(WALK_USER_PAGE - 1ull);
    __u64 from = address - 16; /* the frame pointer is often stored there */
    if (from < page) from = page;
    if (from > page + WALK_USER_PAGE - WALK_WINDOW) from = page + WALK_USER_PAGE - WALK_WINDOW;
    scratch->has_window = 0;
    if (bpf_probe_read_user(scratch->window, WALK_WINDOW, (void*)from) != 0) return 0;
    scratch->has_window = 1;
    scratch->window_start = from;
  }
  const __u64 at = address - scratch->window_start;
  scratch->word = scratch->window[(at >> 3) & (WALK_WINDOW / 8 - 1)];
  return 1;
}

/* Reads eight bytes of code into the scratch space. */
__attribute__((noinline)) int walk_code_word_at(__u64 address) {
  struct walk_scratch* scratch = walk_scratch();
  return scratch && bpf_probe_read_user(&scratch->code_word, 8, (void*)address) == 0;
}

/* --- what user_walk.h asks for --- */

static __always_inline int walk_find_code(struct walk* walk, __u64 ip) { return walk_code_at(ip); }

static __always_inline struct ctprof_unwind_rule walk_find_rule(struct walk* walk, __u64 place) {
  struct ctprof_unwind_rule rule;
  const __u64 number = walk_rule_at(place);
  __builtin_memcpy(&rule, &number, sizeof rule);
  return rule;
}

static __always_inline int walk_read(struct walk* walk, __u64 address, __u64* value) {
  struct walk_scratch* scratch = (struct walk_scratch*)walk;
  if (!walk_word_at(address)) return 0;
  *value = scratch->word;
  return 1;
}

static __always_inline int walk_read_code(struct walk* walk, __u64 address, __u64* value) {
  struct walk_scratch* scratch = (struct walk_scratch*)walk;
  if (!walk_code_word_at(address)) return 0;
  *value = scratch->code_word;
  return 1;
}

static __always_inline void walk_keep(struct walk* walk, __u32 number, __u64 frame) {
  struct walk_scratch* scratch = (struct walk_scratch*)walk;
  scratch->words[number & WALK_MOST_FRAMES] = frame;
}

#include "plugins/shared/user_walk.h"

/* --- a whole walk --- */

enum { WALK_CLOCK_EVERY = 16 };

/* One frame. An enum walk_end. */
__attribute__((noinline)) int walk_frame_of(__u32 unused) {
  struct walk_scratch* scratch = walk_scratch();
  return scratch ? (int)walk_step(&scratch->walk) : WALK_GIVES_UP;
}

/* Walks the stack of the running thread, whose memory is `mm`, from these registers of user space.
 * Returns the tag of what it found (enum walk_tag), which is in `words`, or 0 where it gave up.
 * `most`: of frames; if that is more than WALK_MOST_FRAMES, it gives up on deeper stacks.
 * `most_ns`: of time, which hostile stacks use up. */
static __always_inline __u32 walk_stack(struct walk_scratch* scratch, __u64 mm, __u64 ip, __u64 sp,
                                        __u64 bp, __u32 most, __u64 most_ns) {
  const __u64 begun = bpf_ktime_get_ns();
  struct mm_struct___walk* memory = (void*)mm;
  scratch->mm = mm;
  scratch->mm_id = scratch->tree = 0;
  scratch->has_window = scratch->has_miss = 0;
  scratch->lock_sequence = walk_lock_sequence(mm);
  if ((scratch->lock_sequence & 1) == 0)
    bpf_core_read(&scratch->mm_id, sizeof scratch->mm_id, &memory->context.ctx_id);
  walk_begin(&scratch->walk, ip, sp, bp);
  for (__u32 i = 0; i < WALK_MOST_FRAMES; ++i) {
    const int end = walk_frame_of(0);
    if (end == WALK_ROOT) return WALK_STACK;
    if (end != WALK_GOES_ON) return 0;
    if (scratch->walk.frames >= most) return WALK_DEEP_STACK;
    if (i % WALK_CLOCK_EVERY == WALK_CLOCK_EVERY - 1 && bpf_ktime_get_ns() - begun > most_ns)
      return 0;
  }
  return most > WALK_MOST_FRAMES ? 0 : WALK_DEEP_STACK;
}

#endif
