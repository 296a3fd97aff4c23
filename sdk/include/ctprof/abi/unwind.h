/* ctprof/abi/unwind.h: tables with which a BPF program walks user stacks. ctprof creates them from
 * the call frame information of a module. Part of ctprof/abi.h, which states the compatibility
 * rules; include ctprof/abi.h instead.
 *
 * A table maps a place in the module to the unwind rule for the code there. A place is an offset in
 * the file, or, for the vDSO, an offset from its beginning. Places are divided into pages of 64
 * KiB:
 *
 *     page  = pages[(place >> 16) - first_page]       if absent, CTPROF_UNWIND_NONE applies
 *     row   = the last row of that page with `place` <= (place & 0xffff)
 *     rule  = rules[row.rule]
 *
 * Each page has a row for its place 0, so there is always such a row.
 */
#ifndef CTPROF_ABI_UNWIND_H
#define CTPROF_ABI_UNWIND_H

#include "ctprof/abi/cells.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How to find the caller of a frame. Unless a kind states otherwise, the return address is stored
 * at CFA - 8, and the caller's stack pointer is the CFA. */
typedef uint8_t ctprof_unwind_kind;
enum {
  /* The module does not describe the code. */
  CTPROF_UNWIND_NONE = 0,
  /* The module describes it in a way that tables cannot express: use a copy of the stack. */
  CTPROF_UNWIND_UNKNOWN = 1,
  /* The first function of a thread, which has no caller. */
  CTPROF_UNWIND_ROOT = 2,
  /* CFA = stack pointer + cfa_offset */
  CTPROF_UNWIND_SP = 3,
  /* CFA = frame pointer + cfa_offset */
  CTPROF_UNWIND_BP = 4,
  /* CFA = the word stored at stack pointer + (cfa_offset >> 8), plus the signed low byte of
   * cfa_offset */
  CTPROF_UNWIND_AT_SP = 5,
  /* The same relative to the frame pointer. */
  CTPROF_UNWIND_AT_BP = 6,
  /* A signal frame of the kernel. With A = stack pointer + cfa_offset: the stack pointer is stored
   * at A, the next instruction at A + 8, the frame pointer at A - 40. The next instruction is where
   * the thread was interrupted, not a return address. */
  CTPROF_UNWIND_SIGNAL = 7
};

/* Where the caller's frame pointer is. */
typedef uint8_t ctprof_unwind_saved;
enum {
  /* in its register, unchanged */
  CTPROF_UNWIND_SAME = 0,
  /* stored at CFA + bp_offset; if that is below the stack pointer, it is still in its register */
  CTPROF_UNWIND_AT_CFA = 1,
  /* stored at stack pointer + bp_offset, or at frame pointer + bp_offset */
  CTPROF_UNWIND_SAVED_AT_SP = 2,
  CTPROF_UNWIND_SAVED_AT_BP = 3
};

/* These three structs have a fixed layout that never grows, because BPF programs read them. */
struct ctprof_unwind_rule {
  ctprof_unwind_kind kind;
  ctprof_unwind_saved bp;
  int16_t bp_offset;
  int32_t cfa_offset;
};
/* Applies a rule from this place up to the next row of the page. */
struct ctprof_unwind_row {
  uint16_t place; /* in the page */
  uint16_t rule;  /* its index among the rules of the table */
};
struct ctprof_unwind_page {
  uint32_t first_row;
  uint32_t rows_count; /* 1 to 65,536 */
};

/* A table, with the number that frames use to refer to it (CTPROF_USER_FRAMES). Its arrays are
 * valid only during the call that passes them. */
struct ctprof_unwind_table {
  uint32_t size;
  /* Numbers start at 1 and are valid for this recorder. 0: no table exists for the requested file.
   */
  uint32_t number;
  /* As in the request. */
  uint64_t request;
  uint64_t first_page;
  const struct ctprof_unwind_page* pages;
  const struct ctprof_unwind_row* rows;
  const struct ctprof_unwind_rule* rules;
  uint32_t pages_count;
  uint32_t rows_count;
  uint32_t rules_count;
  uint32_t reserved;
};

typedef uint32_t ctprof_table_flags;
enum {
  /* a table of the vDSO, which is not a file; all fields except `request` are 0 */
  CTPROF_TABLE_OF_VDSO = 1
};

/* Requests the table of a file whose code a process has mapped. */
struct ctprof_table_request {
  uint32_t size;
  ctprof_table_flags flags;
  /* Chosen by the recorder, returned with the table. */
  uint64_t request;
  /* A process that maps or mapped it, and the mapping; all 0: unknown. */
  uint64_t tgid;
  uint64_t start;
  uint64_t length;
  uint64_t offset;
  /* As the kernel reports them for the file that it reads: on an overlay mount, a file of one
   * layer. */
  uint32_t device_major;
  uint32_t device_minor;
  uint64_t inode;
  /* As the kernel reports them: size, and time of the last change of the inode (ctime). There is no
   * table if the file that ctprof opens has other values. */
  uint64_t file_size;
  int64_t changed_s;
  uint32_t changed_ns;
  uint32_t reserved;
  /* Path as the process sees it; empty: unknown. */
  struct ctprof_text path;
};

#ifdef __cplusplus
}
#endif

#endif
