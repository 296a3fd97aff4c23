/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Walks from the registers of a user thread to the frames of its stack, by tables of unwind rules
 * (ctprof/abi/unwind.h). It is compiled into BPF programs, and into tests for user space.
 *
 * It finds the same frames as the Unwinder of ctprof, or gives up (WALK_GIVES_UP). Then the caller
 * copies the stack, and ctprof walks the copy. It gives up wherever the Unwinder would not reach
 * the thread's root, and where a table cannot express a rule.
 *
 * Stack and registers may contain anything: each frame is further up the stack than the previous
 * one, and the caller limits their number.
 *
 * The file that includes this one first defines the five functions that are declared below.
 */
#ifndef CTPROF_SHARED_USER_WALK_H
#define CTPROF_SHARED_USER_WALK_H

#include "ctprof/abi/unwind.h"
#include "plugins/shared/walk_state.h"

/* Sets `code` to the range of executable memory that contains `ip`. Returns 0 if there is none, or
 * if its table is unknown; then `reason` is set. */
static int walk_find_code(struct walk* walk, __u64 ip);
/* Returns the rule for a place in the module of `code`. */
static struct ctprof_unwind_rule walk_find_rule(struct walk* walk, __u64 place);
/* Reads a word of the user's stack. Returns 0 if it cannot be read. */
static int walk_read(struct walk* walk, __u64 address, __u64* value);
/* Reads eight bytes of the module's code, at any address. Returns 0 if they cannot be read. */
static int walk_read_code(struct walk* walk, __u64 address, __u64* value);
/* Stores a frame; numbers start at 0. */
static void walk_store_frame(struct walk* walk, __u32 number, __u64 frame);

static __always_inline enum walk_status walk_give_up(struct walk* walk, enum walk_reason reason) {
  walk->reason = reason;
  return WALK_GIVES_UP;
}

/* Returns rbp, which is read from the stack only when a rule needs it. */
static __always_inline int walk_read_bp(struct walk* walk, __u64* bp) {
  if (walk->bp_address != 0) {
    if (!walk_read(walk, walk->bp_address, &walk->bp)) return 0;
    walk->bp_address = 0;
  }
  *bp = walk->bp;
  return 1;
}

static __always_inline __u64 walk_encode_frame(const struct walk* walk, __u64 ip, __u64 place) {
  const __u64 guessed = walk->is_guessed ? WALK_FRAME_GUESSED : 0;
  if (walk->code.table == 0) return WALK_FRAME_ADDRESS | guessed | ip;
  return guessed | (__u64)walk->code.table << WALK_FRAME_TABLE_SHIFT | place;
}

/* Returns whether the eight bytes before a return address end with a call: opcode e8 with a
 * distance, or opcode ff with an operand and /2 or /3 (far). Prefixes do not matter, because they
 * precede the opcode. */
static __always_inline int walk_ends_with_call(__u64 bytes) {
  enum { NEAR = 0xe8, INDIRECT = 0xff, SIB = 4, BASE_OR_IP = 5 };
  if (((bytes >> 24) & 0xff) == NEAR) return 1;
  for (int size = 2; size <= 7; ++size) {
    const __u64 code = bytes >> (8 * (8 - size));
    const __u32 operand = (code >> 8) & 0xff, mode = operand >> 6, low = operand & 7;
    if ((code & 0xff) != INDIRECT || ((operand >> 4) & 3) != 1) continue;
    const int has_sib = mode != 3 && low == SIB;
    const int is_long = mode == 2 || (mode == 0 && low == BASE_OR_IP) ||
                        (mode == 0 && has_sib && size > 2 && ((code >> 16) & 7) == BASE_OR_IP);
    if (size == 2 + has_sib + (is_long ? 4 : mode == 1)) return 1;
  }
  return 0;
}

/* Finds the code of the caller. Saves the range of the called function, if that belongs to a file.
 */
static __always_inline int walk_find_caller_code(struct walk* walk, __u64 ip) {
  if (ip - walk->code.start < walk->code.end - walk->code.start) return 1;
  walk->callee_start = walk->code.table != 0 ? walk->code.start : 0;
  walk->callee_end = walk->code.table != 0 ? walk->code.end : 0;
  return walk_find_code(walk, ip);
}

/* Returns whether a value found through a frame pointer is a return address: it is in code of no
 * file, or follows a call. */
static __always_inline int walk_is_return(struct walk* walk, __u64 ip) {
  __u64 bytes = 0;
  if (!walk_find_caller_code(walk, ip - 1)) return 0;
  if (walk->code.table == 0) return 1;
  return ip - 8 >= walk->code.start && ip - 8 < ip && walk_read_code(walk, ip - 8, &bytes) &&
         walk_ends_with_call(bytes);
}

/* Returns whether the code is the one that a signal handler returns to: mov $15,%rax or %eax;
 * syscall. */
static __always_inline int walk_is_signal_return(__u64 first) {
  return first == 0x0f0000000fc0c748 || (first & 0xffffffffffffff) == 0x050f0000000fb8;
}

/* Returns whether the code is that of __start_context, to which the first function of a context of
 * makecontext(3) returns: [endbr64;] mov %rbx,%rsp; mov (%rsp),%rdi or pop %rdi; test %rdi,%rdi. */
static __always_inline int walk_is_start_context(__u64 first, __u64 second) {
  if ((__u32)first == 0xfa1e0ff3) {
    first = first >> 32 | second << 32;
    second >>= 32;
  }
  const __u64 rest = first >> 24 | second << 40;
  return (first & 0xffffff) == 0xdc8948 &&
         ((__u32)rest == 0xff85485f || (rest & 0xffffffffffffff) == 0xff8548243c8b48);
}

/* Handles a return address that does not follow a call, so that no call pushed it. */
static __always_inline enum walk_status walk_enter_without_call(struct walk* walk) {
  __u64 first = 0, second = 0;
  if (!walk_read_code(walk, walk->ip, &first) || !walk_read_code(walk, walk->ip + 8, &second))
    return walk_give_up(walk, WALK_UNREADABLE);
  return walk_is_start_context(first, second) ? WALK_ROOT : WALK_CONTINUES;
}

/* Stores the frame of the code at ip, and finds its rule. The rule is that of the call, not of the
 * next instruction, because a call that never returns may be the last instruction of its function.
 * An address that does not follow a call (the kernel wrote it for a signal, or assembly stored it)
 * is looked up itself. */
static __always_inline enum walk_status walk_enter(struct walk* walk,
                                                   struct ctprof_unwind_rule* rule) {
  const __u64 ip = walk->is_exact ? walk->ip : walk->ip - 1;
  int is_without_call = 0;
  if (!walk_find_caller_code(walk, ip)) return WALK_GIVES_UP;
  __u64 place = ip - walk->code.address_shift;
  *rule = walk_find_rule(walk, place);
  const int is_call = rule->kind != CTPROF_UNWIND_NONE && rule->kind != CTPROF_UNWIND_SIGNAL;
  if (!is_call && !walk->is_exact && walk->ip < walk->code.end) {
    *rule = walk_find_rule(walk, place + 1);
    is_without_call = rule->kind != CTPROF_UNWIND_NONE;
    place += is_without_call;
  }
  walk_store_frame(walk, walk->frames, walk_encode_frame(walk, ip, place));
  ++walk->frames;
  return is_without_call && rule->kind != CTPROF_UNWIND_SIGNAL ? walk_enter_without_call(walk)
                                                               : WALK_CONTINUES;
}

static __always_inline enum walk_status walk_move_to_caller(struct walk* walk, __u64 ip, __u64 sp,
                                                            int is_exact) {
  walk->ip = ip;
  walk->sp = sp;
  walk->is_exact = is_exact;
  return ip == 0 ? WALK_ROOT : WALK_CONTINUES;
}

/* Uses the frame pointer: it points to the caller's frame pointer, and the return address is above
 * it. Zero ends a chain, and code without frames also leaves zero there. */
static __always_inline enum walk_status walk_by_frame_pointer(struct walk* walk, int was_in_chain) {
  __u64 bp = 0, ip = 0, caller_bp = 0;
  if (!walk_read_bp(walk, &bp)) return walk_give_up(walk, WALK_UNREADABLE);
  if (bp == 0)
    return was_in_chain || !walk->is_exact ? WALK_ROOT : walk_give_up(walk, WALK_NO_CHAIN);
  if (bp < walk->sp || (bp & 7) != 0) return walk_give_up(walk, WALK_NO_CHAIN);
  if (!walk_read(walk, bp + 8, &ip)) return walk_give_up(walk, WALK_UNREADABLE);
  if (ip == 0 && (!walk_read(walk, bp, &caller_bp) || caller_bp != 0))
    return walk_give_up(walk, WALK_NO_CHAIN);
  if (ip != 0 && !walk_is_return(walk, ip)) return walk_give_up(walk, WALK_NO_CHAIN);
  walk->bp_address = bp;
  walk->is_from_frame_pointer = 1;
  return walk_move_to_caller(walk, ip, bp + 16, 0);
}

/* Detects Python's frames for perf (-X perf): generated code with 16 bytes of stack whose caller
 * and callee are the same file. Returns 1 for such a frame and sets `ip` to its return address, 0
 * for another frame, and -1 if it is uncertain. */
static __always_inline int walk_is_trampoline(struct walk* walk, __u64* ip) {
  const __u64 start = walk->callee_start, size = walk->callee_end - start;
  __u64 code = 0;
  if (size == 0 || walk->is_exact || !walk_read(walk, walk->sp + 8, ip) || *ip - 1 - start >= size)
    return 0;
  if (walk_is_return(walk, *ip)) return 1;
  if (*ip >= walk->code.end || !walk_read_code(walk, *ip, &code)) return -1;
  const struct ctprof_unwind_rule rule = walk_find_rule(walk, *ip - walk->code.address_shift);
  /* The rule of a signal frame is unknown if a table cannot express it. */
  const int may_be_signal = rule.kind == CTPROF_UNWIND_SIGNAL || rule.kind == CTPROF_UNWIND_UNKNOWN;
  return walk_is_signal_return(code) || may_be_signal ? -1 : 0;
}

/* Handles code without a rule. For code of a file it gives up, because the Unwinder reads that code
 * and finds more than a chain of frame pointers. Generated code uses frame pointers. */
static __always_inline enum walk_status walk_without_rule(struct walk* walk, int was_in_chain) {
  __u64 ip = 0;
  walk->is_guessed = 1;
  if (walk->code.table != 0) return walk_give_up(walk, WALK_NO_RULE);
  const int is_trampoline = walk_is_trampoline(walk, &ip);
  if (is_trampoline < 0) return walk_give_up(walk, WALK_NO_CHAIN);
  const enum walk_status end = is_trampoline ? walk_move_to_caller(walk, ip, walk->sp + 16, 0)
                                             : walk_by_frame_pointer(walk, was_in_chain);
  walk->callee_start = walk->callee_end = 0; /* the callee of the next frame belongs to no file */
  return end;
}

static __always_inline enum walk_status walk_signal_frame(struct walk* walk, __s32 cfa_offset) {
  const __u64 context_address = walk->sp + cfa_offset;
  __u64 ip = 0, sp = 0;
  if (!walk_read(walk, context_address, &sp) || !walk_read(walk, context_address + 8, &ip))
    return walk_give_up(walk, WALK_UNREADABLE);
  walk->bp_address = context_address - 40;
  return walk_move_to_caller(walk, ip, sp, 1);
}

static __always_inline int walk_compute_cfa(struct walk* walk, struct ctprof_unwind_rule rule,
                                            __u64* cfa) {
  const int is_bp_based = rule.kind == CTPROF_UNWIND_BP || rule.kind == CTPROF_UNWIND_AT_BP;
  __u64 base = walk->sp;
  if (is_bp_based && !walk_read_bp(walk, &base)) return 0;
  if (rule.kind == CTPROF_UNWIND_SP || rule.kind == CTPROF_UNWIND_BP) {
    *cfa = base + rule.cfa_offset;
    return 1;
  }
  if (!walk_read(walk, base + (rule.cfa_offset >> 8), cfa)) return 0;
  *cfa += (signed char)rule.cfa_offset;
  return 1;
}

/* Finds the caller's rbp. In an epilogue, the rules of compilers still locate rbp in the slot that
 * it was already popped from, below the stack pointer. In this case rbp is in its register. */
static __always_inline int walk_locate_caller_bp(struct walk* walk, struct ctprof_unwind_rule rule,
                                                 __u64 cfa) {
  __u64 base = 0;
  if (rule.bp == CTPROF_UNWIND_AT_CFA) {
    const __u64 bp_address = cfa + rule.bp_offset;
    if (bp_address >= walk->sp) walk->bp_address = bp_address;
  } else if (rule.bp == CTPROF_UNWIND_SAVED_AT_SP) {
    walk->bp_address = walk->sp + rule.bp_offset;
  } else if (rule.bp == CTPROF_UNWIND_SAVED_AT_BP) {
    if (!walk_read_bp(walk, &base)) return 0;
    walk->bp_address = base + rule.bp_offset;
  }
  return 1;
}

/* Walks one frame. After WALK_CONTINUES, the caller may walk the next one. */
static __always_inline enum walk_status walk_step(struct walk* walk) {
  struct ctprof_unwind_rule rule;
  __u64 cfa = 0, ip = 0;
  const enum walk_status status = walk_enter(walk, &rule);
  const int was_in_chain = walk->is_from_frame_pointer;
  if (status != WALK_CONTINUES) return status;
  walk->is_from_frame_pointer = 0;
  if (rule.kind == CTPROF_UNWIND_NONE) return walk_without_rule(walk, was_in_chain);
  if (rule.kind == CTPROF_UNWIND_ROOT) return WALK_ROOT;
  if (rule.kind == CTPROF_UNWIND_SIGNAL) return walk_signal_frame(walk, rule.cfa_offset);
  if (rule.kind == CTPROF_UNWIND_UNKNOWN || rule.kind > CTPROF_UNWIND_SIGNAL)
    return walk_give_up(walk, WALK_INEXPRESSIBLE);
  if (!walk_compute_cfa(walk, rule, &cfa)) return walk_give_up(walk, WALK_UNREADABLE);
  if (cfa < walk->sp || (cfa == walk->sp && !walk->is_exact))
    return walk_give_up(walk, WALK_NOT_UPWARD);
  if (!walk_read(walk, cfa - 8, &ip) || !walk_locate_caller_bp(walk, rule, cfa))
    return walk_give_up(walk, WALK_UNREADABLE);
  return walk_move_to_caller(walk, ip, cfa, 0);
}

/* Starts at the registers of a running thread. */
static __always_inline void walk_begin(struct walk* walk, __u64 ip, __u64 sp, __u64 bp) {
  walk->ip = ip;
  walk->sp = sp;
  walk->bp = bp;
  walk->bp_address = 0;
  walk->code.start = walk->code.end = walk->code.address_shift = 0;
  walk->code.table = 0;
  walk->callee_start = walk->callee_end = 0;
  walk->frames = 0;
  walk->is_exact = 1;
  walk->is_guessed = 0;
  walk->is_from_frame_pointer = 0;
  walk->reason = 0;
}

#endif
