/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* What a walk of a user stack knows between two frames, and what it delivers: see user_walk.h. The
 * file that includes this defines __u32 and its kind.
 */
#ifndef CTPROF_SHARED_WALK_STATE_H
#define CTPROF_SHARED_WALK_STATE_H

/* A frame is one word, as in CTPROF_USER_FRAMES (ctprof/abi/record.h): an address of code that no
 * module has, or the number of a table and a place in its module. */
#define WALK_FRAME_ADDRESS (1ull << 63)
#define WALK_FRAME_GUESSED (1ull << 62)
enum { WALK_FRAME_TABLE = 40 };

enum walk_end {
  WALK_GOES_ON,
  WALK_ROOT,    /* the last frame is the thread's first function */
  WALK_GIVES_UP /* frames are missing, or may be wrong: take a copy of the stack */
};

/* Why a walk gave up. */
enum walk_reason {
  WALK_NO_CODE = 1,   /* an address is in no executable memory */
  WALK_NO_TABLE,      /* a file has no table, or none yet */
  WALK_CHANGED,       /* a mapping changed while it was read */
  WALK_NO_RULE,       /* the file does not describe this code */
  WALK_INEXPRESSIBLE, /* a table cannot express the rule */
  WALK_UNREADABLE,    /* memory that is not present */
  WALK_NO_CHAIN,      /* a frame pointer leads to no caller */
  WALK_NOT_UP,        /* the caller would not be further up the stack */
  WALK_TOO_DEEP,      /* more frames than fit */
  WALK_TOO_LONG,      /* it took too much time */
  WALK_OVER_BUDGET,   /* walks of the process took too much time */
  WALK_REASONS
};

/* Executable memory. */
struct walk_code {
  __u64 start, end;
  __u64 shift; /* from a place in the module to its address */
  __u32 table; /* of the module; 0: memory of no file */
  __u32 first_rule;
  __u32 first_page; /* of the table, among all pages */
  __u32 page_count;
  __u64 page_base; /* the number of that page in the module */
};

struct walk {
  __u64 ip, sp, bp;
  __u64 bp_at;           /* where bp is stored, as it was not read yet; 0: it was */
  struct walk_code code; /* where the last frame was */
  __u64 callee_start;    /* code of a file that was called from `code`; both 0: none */
  __u64 callee_end;
  __u32 frames;
  __u32 is_exact;    /* ip is an instruction that runs, and no return address */
  __u32 is_guessed;  /* some frame was found by frame pointers */
  __u32 is_in_chain; /* the last one was */
  __u32 reason;      /* an enum walk_reason */
};

#endif
