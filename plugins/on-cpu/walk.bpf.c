/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Runs at each sample, and walks the user stack. A walk that reaches the root of the stack is
 * written into the ring of the event, and the event writes nothing. Otherwise the event writes its
 * own sample, with registers and a copy of the stack.
 *
 * See also: plugins/shared/user_walk.bpf.h, which walks; kernel_walk.hpp, which loads it.
 */
#include "plugins/shared/user_walk.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by the reader. */
__u32 walk_depth = WALK_MAX_FRAMES; /* the largest number of frames of a stack */
__u32 walk_and_copy = 0;            /* for tests: each sample also has a copy */

enum { WRITE_EVENT = 1, SUPPRESS_EVENT = 0 };
enum { CODE_64 = 0x33, USER_MODE = 3, NO_SPACE = -28 };

/* An event for each CPU, which writes into the ring of the sampling event. */
struct {
  __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(__u32));
} walk_outputs SEC(".maps");

/* The context of a perf_event program: registers of x86-64. */
struct bpf_perf_event_data {
  __u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
  __u64 orig_ax, ip, cs, flags, sp, ss;
};

struct user_registers {
  __u64 ip, sp, bp, cs;
};

/* Finds the registers of user space, where it was interrupted or entered the kernel. Always returns
 * 1; the caller excludes kernel threads, which have no mm. */
static __always_inline int find_user_registers(struct user_registers* registers_out,
                                               struct bpf_perf_event_data* sample,
                                               struct task_struct* task) {
  /* Each field is a separate load, because the verifier rejects loads that the compiler merges. */
  volatile struct bpf_perf_event_data* registers = sample;
  registers_out->cs = registers->cs;
  registers_out->ip = registers->ip;
  registers_out->sp = registers->sp;
  registers_out->bp = registers->bp;
  if ((registers_out->cs & USER_MODE) == USER_MODE) return 1;
  struct pt_regs___walk* entry_registers = (void*)bpf_task_pt_regs(task);
  registers_out->cs = entry_registers->cs;
  registers_out->ip = entry_registers->ip;
  registers_out->sp = entry_registers->sp;
  registers_out->bp = entry_registers->bp;
  return 1;
}

static __always_inline long write_output(void* sample, struct walk_scratch* scratch, __u32 tag,
                                         __u32 words) {
  words &= WALK_MAX_FRAMES;
  scratch->tag = tag | words;
  return bpf_perf_event_output(sample, &walk_outputs, 0xffffffffull, &scratch->tag,
                               sizeof scratch->tag + 8 * words);
}

/* If the record cannot be written, the file is requested again. */
static __always_inline long write_miss(void* sample, struct walk_scratch* scratch) {
  const __u32 words = sizeof scratch->miss / 8;
  __builtin_memcpy(scratch->words, &scratch->miss, sizeof scratch->miss);
  const long error = write_output(sample, scratch, WALK_MISS, words);
  if (error != 0) bpf_map_delete_elem(&walk_files, &scratch->miss.file);
  return error;
}

SEC("perf_event")
int walk_sample(struct bpf_perf_event_data* sample) {
  struct user_registers place;
  if (bpf_get_current_pid_tgid() >> 32 == 0) return WRITE_EVENT;
  struct task_struct* task = bpf_get_current_task_btf();
  struct walk_scratch* scratch = walk_scratch();
  struct mm_struct___walk* mm = ((struct task_struct___walk*)task)->mm;
  if (!scratch || !mm || !find_user_registers(&place, sample, task) || place.cs != CODE_64)
    return WRITE_EVENT;
  const __u32 tag = walk_stack(scratch, mm, place.ip, place.sp, place.bp, walk_depth);
  if (tag == 0) {
    /* A record that did not fit was counted as lost, so the event must not write a second one. */
    const long error = scratch->has_miss ? write_miss(sample, scratch) : 0;
    return error == NO_SPACE ? SUPPRESS_EVENT : WRITE_EVENT;
  }
  const long error = write_output(sample, scratch, tag, scratch->walk.frames);
  if (error != 0 && error != NO_SPACE)
    return WRITE_EVENT; /* otherwise it is lost, and was
                         * counted */
  return walk_and_copy ? WRITE_EVENT : SUPPRESS_EVENT;
}
