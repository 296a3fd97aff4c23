/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The state of a walk of a user stack between two frames, and its result: see user_walk.h. The file
 * that includes this one defines __u32 and the other integer types.
 */
#ifndef CTPROF_SHARED_WALK_STATE_H
#define CTPROF_SHARED_WALK_STATE_H

/* A frame is one word, as in CTPROF_USER_FRAMES (ctprof/abi/record.h): an address of code outside
 * all modules, or the number of a table and an offset in its module. */
#define WALK_FRAME_ADDRESS (1ull << 63)
#define WALK_FRAME_GUESSED (1ull << 62)
enum { WALK_FRAME_TABLE_SHIFT = 40 };

enum walk_status {
  WALK_CONTINUES,
  WALK_ROOT,    /* the last frame is the thread's first function */
  WALK_GIVES_UP /* frames are missing, or may be wrong: copy the stack */
};

/* Why a walk gave up. */
enum walk_reason {
  WALK_NO_CODE = 1,   /* an address is not in executable memory */
  WALK_NO_TABLE,      /* a file has no table, or none yet */
  WALK_CHANGED,       /* a mapping changed during the read */
  WALK_NO_RULE,       /* the file does not describe this code */
  WALK_INEXPRESSIBLE, /* a table cannot express the rule */
  WALK_UNREADABLE,    /* memory is not present */
  WALK_NO_CHAIN,      /* a frame pointer leads to no caller */
  WALK_NOT_UPWARD,    /* the caller would not be further up the stack */
  WALK_TOO_DEEP,      /* there are more frames than fit */
  WALK_TOO_LONG,      /* the walk took too much time */
  WALK_OVER_BUDGET,   /* walks of the process took too much time */
  WALK_REASONS
};

/* A range of executable memory. */
struct walk_code {
  __u64 start, end;
  __u64 address_shift; /* the difference between an address and its offset in the module */
  __u32 table;         /* of the module; 0: memory of no file */
  __u32 first_rule;
  __u32 first_page; /* of the table, in the array of all pages */
  __u32 page_count;
  __u64 page_base; /* the number of the first page in the module */
};

struct walk {
  __u64 ip, sp, bp;
  __u64 bp_address;      /* the address of bp, if it was not read yet; 0: bp was read */
  struct walk_code code; /* contains the last frame */
  __u64 callee_start;    /* code of a file that `code` called; both 0: none */
  __u64 callee_end;
  __u32 frames;
  __u32 is_exact;              /* ip is a running instruction, not a return address */
  __u32 is_guessed;            /* at least one frame was found by frame pointers */
  __u32 is_from_frame_pointer; /* the last frame was found by a frame pointer */
  __u32 reason;                /* an enum walk_reason */
};

#endif
