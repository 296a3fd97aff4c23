/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The walk of user stacks (user_walk.h) in a BPF program. It needs x86-64 and Linux 6.1, which
 * stores the mappings of a process in a maple tree.
 *
 * Contexts. Programs run where a thread was interrupted, also by an NMI, so no function here waits
 * or takes a lock that the interrupted code may hold:
 *   - array maps and per-CPU arrays: a lookup computes an address;
 *   - the map of files is preallocated: a lookup follows a list under RCU, and an insertion takes
 *     the lock of a bucket only if no interrupted code holds it on this CPU. Otherwise it fails,
 *     and the file is requested at a later sample;
 *   - bpf_probe_read_kernel and _user copy with page faults disabled, and _user first checks
 *     whether the page tables are usable in an NMI: they return an error instead of waiting;
 *   - bpf_perf_event_output writes into a perf ring, as perf itself does in an NMI, and guards its
 *     scratch space by a nesting level;
 *   - bpf_get_current_task_btf, bpf_task_pt_regs, bpf_get_current_pid_tgid, bpf_ktime_get_ns:
 *     read per-CPU data; the clock has a variant for NMIs, which the helper uses.
 *
 * A program does not interrupt itself on one CPU, because the kernel skips a perf program while
 * another is running there. Therefore per-CPU scratch space needs no lock.
 *
 * See also: walk_code.bpf.h (mappings of a process), walk_rules.bpf.h (unwind rules).
 */
#ifndef CTPROF_SHARED_USER_WALK_BPF_H
#define CTPROF_SHARED_USER_WALK_BPF_H

#include "plugins/shared/walk_budget.bpf.h"
#include "plugins/shared/walk_code.bpf.h"

/* --- memory of the stack --- */

/* Reads a word into the scratch space, with its surroundings, which contain the next frames. */
__attribute__((noinline)) int walk_read_word(struct walk_scratch* scratch, __u64 address) {
  if (!scratch) return 0;
  ++scratch->work_units;
  if ((address & 7) != 0) return bpf_probe_read_user(&scratch->word, 8, (void*)address) == 0;
  const __u64 page = address & ~(WALK_USER_PAGE - 1ull);
  __u64 window_address = address - 16; /* the frame pointer is often stored there */
  if (window_address < page) window_address = page;
  if (window_address > page + WALK_USER_PAGE - WALK_WINDOW)
    window_address = page + WALK_USER_PAGE - WALK_WINDOW;
  scratch->window_end = 0;
  if (bpf_probe_read_user(scratch->window, WALK_WINDOW, (void*)window_address) != 0) return 0;
  scratch->window_end = WALK_WINDOW - 7;
  scratch->window_start = window_address;
  scratch->word = scratch->window[((address - window_address) >> 3) & (WALK_WINDOW / 8 - 1)];
  return 1;
}

/* Reads eight bytes of code into the scratch space. */
__attribute__((noinline)) int walk_read_code_word(struct walk_scratch* scratch, __u64 address) {
  return scratch && bpf_probe_read_user(&scratch->code_word, 8, (void*)address) == 0;
}

/* --- functions that user_walk.h requires --- */

static __always_inline int walk_find_code(struct walk* walk, __u64 ip) {
  return walk_find_code_range((struct walk_scratch*)walk, ip);
}

static __always_inline struct ctprof_unwind_rule walk_find_rule(struct walk* walk, __u64 place) {
  struct ctprof_unwind_rule rule;
  const __u64 number = walk_find_rule_value((struct walk_scratch*)walk, place);
  __builtin_memcpy(&rule, &number, sizeof rule);
  return rule;
}

static __always_inline int walk_read(struct walk* walk, __u64 address, __u64* value) {
  struct walk_scratch* scratch = (struct walk_scratch*)walk;
  const __u64 window_offset = address - scratch->window_start;
  if (window_offset < scratch->window_end && (window_offset & 7) == 0) {
    *value = scratch->window[(window_offset >> 3) & (WALK_WINDOW / 8 - 1)];
    return 1;
  }
  if (!walk_read_word(scratch, address)) return 0;
  *value = scratch->word;
  return 1;
}

static __always_inline int walk_read_code(struct walk* walk, __u64 address, __u64* value) {
  struct walk_scratch* scratch = (struct walk_scratch*)walk;
  if (!walk_read_code_word(scratch, address)) return 0;
  *value = scratch->code_word;
  return 1;
}

static __always_inline void walk_store_frame(struct walk* walk, __u32 number, __u64 frame) {
  struct walk_scratch* scratch = (struct walk_scratch*)walk;
  scratch->words[number & WALK_MAX_FRAMES] = frame;
}

#include "plugins/shared/user_walk.h"

/* --- a whole walk --- */

/* The time limit of one walk, which hostile stacks use up; a copy takes some microseconds. Reading
 * the clock costs as much as two frames. Therefore the clock is not read before
 * WALK_WORK_PER_CLOCK_READ units, which take at most WALK_UNTIMED_NS. */
enum { WALK_MAX_NS = 32 * 1000, WALK_UNTIMED_NS = 4 * 1000 };

/* Walks one frame. Returns an enum walk_status. */
__attribute__((noinline)) int walk_one_frame(struct walk_scratch* scratch) {
  return scratch ? (int)walk_step(&scratch->walk) : WALK_GIVES_UP;
}

/* Walks from the user-space registers in `walk`. Parameters and result are those of walk_stack. */
static __always_inline __u32 walk_frames(struct walk_scratch* scratch, __u32 max_frames) {
  for (__u32 i = 0; i < WALK_MAX_FRAMES; ++i) {
    const int status = walk_one_frame(scratch);
    if (status == WALK_ROOT) return WALK_STACK;
    if (status != WALK_CONTINUES) return 0;
    if (scratch->walk.frames >= max_frames) return WALK_DEEP_STACK;
    if (++scratch->work_units < WALK_WORK_PER_CLOCK_READ) continue;
    const __u64 now = bpf_ktime_get_ns();
    scratch->work_units = 0;
    if (scratch->start_ns == 0) scratch->start_ns = now - WALK_UNTIMED_NS;
    if (now - scratch->start_ns <= WALK_MAX_NS) continue;
    scratch->walk.reason = WALK_TOO_LONG;
    return 0;
  }
  scratch->walk.reason = WALK_TOO_DEEP;
  return max_frames > WALK_MAX_FRAMES ? 0 : WALK_DEEP_STACK;
}

static __always_inline void walk_prepare(struct walk_scratch* scratch,
                                         struct mm_struct___walk* mm) {
  scratch->mm = (__u64)mm;
  scratch->mm_id = scratch->mapping_tree = scratch->start_ns = 0;
  scratch->previous_code.start = scratch->previous_code.end = 0;
  scratch->window_end = scratch->has_miss = scratch->work_units = 0;
  struct mm_struct___since_6_14* memory = (void*)mm;
  scratch->lock_sequence = 1;
  if (bpf_core_field_exists(memory->mm_lock_seq.sequence))
    scratch->lock_sequence = memory->mm_lock_seq.sequence;
  if ((scratch->lock_sequence & 1) == 0) scratch->mm_id = mm->context.ctx_id;
}

/* Returns whether execve(2) has replaced the memory of the thread but not yet its registers: they
 * and the stack belonged to the old program. The kernel sets start_code just before the registers.
 */
static __always_inline int walk_has_no_stack(struct mm_struct___walk* mm) {
  return mm->start_code == 0;
}

/* Walks the stack of the running thread, whose memory is `mm`, from these user-space registers.
 * Returns the tag of the result (enum walk_tag), whose frames are in `words`, or 0 if it gave up.
 * `max_frames` may be more than WALK_MAX_FRAMES, the largest number that fits: then the walk gives
 * up on deeper stacks. */
static __always_inline __u32 walk_stack(struct walk_scratch* scratch, struct mm_struct___walk* mm,
                                        __u64 ip, __u64 sp, __u64 bp, __u32 max_frames) {
  const __u32 tgid = bpf_get_current_pid_tgid() >> 32;
  __u32 tag = 0;
  walk_prepare(scratch, mm);
  walk_begin(&scratch->walk, ip, sp, bp);
  if (walk_has_no_stack(mm))
    tag = WALK_STACK;
  else if (walk_is_over_budget(tgid))
    scratch->walk.reason = WALK_OVER_BUDGET;
  else
    tag = walk_frames(scratch, max_frames);
  walk_charge(tgid, scratch->start_ns);
  walk_count(tag != 0 ? 0 : scratch->walk.reason);
  return tag;
}

#endif
