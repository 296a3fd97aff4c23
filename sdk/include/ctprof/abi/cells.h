/* ctprof/abi/cells.h: what a cell can hold, and why it may hold nothing. Part of ctprof/abi.h,
 * which says how all of it may change; include that. */
#ifndef CTPROF_ABI_CELLS_H
#define CTPROF_ABI_CELLS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Stands behind a field that came after version 1 was first used: in C++ it is zero where an
 * initializer does not name it, so that what compiled before compiles still, with every warning on.
 */
#ifdef __cplusplus
#define CTPROF_TAIL \
  {}
#else
#define CTPROF_TAIL
#endif

/* The most rows that one call of `collect` is handed. */
#define CTPROF_MAX_ROWS 1024u

/* What a row is about. */
typedef uint32_t ctprof_entity;
enum { CTPROF_THREAD = 0, CTPROF_PROCESS = 1, CTPROF_CGROUP = 2, CTPROF_HOST = 3 };

/* How a cell is stored. */
typedef uint32_t ctprof_storage;
enum {
  CTPROF_U64 = 0,
  CTPROF_I64 = 1,
  CTPROF_F64 = 2,
  CTPROF_BOOL = 3,   /* one byte, 0 or 1 */
  CTPROF_STRING = 4, /* bytes, by convention UTF-8 */
  CTPROF_BITSET = 5, /* little end first, 64 bits a word */
  CTPROF_MAP = 6,    /* string to u64 */
  CTPROF_ARRAY = 7,  /* of u64 */
  CTPROF_STACKS = 8  /* a weighted set of call stacks */
};

/* Why a cell holds no value. One byte per cell; 0 says that it holds one. These numbers reach the
 * file. */
typedef uint8_t ctprof_gap;
enum {
  CTPROF_VALUE = 0,
  CTPROF_UNTOUCHED = 1,       /* nobody wrote the cell: a fault, never in a finished snapshot */
  CTPROF_NOT_APPLICABLE = 2,  /* the question has no meaning for this row */
  CTPROF_THREAD_GONE = 3,     /* it ended before the cell was read */
  CTPROF_DENIED = 4,          /* not permitted to us */
  CTPROF_UNSUPPORTED = 5,     /* this kernel or configuration does not have it */
  CTPROF_SWITCHED_OFF = 6,    /* a run-time switch is off */
  CTPROF_PREDATES_SWITCH = 7, /* the thread is older than the switch */
  CTPROF_MALFORMED = 8,       /* the answer could not be understood */
  CTPROF_BUSY = 9,            /* traced by someone else, stopped, or not answering */
  CTPROF_SOURCE_FAILED = 10,  /* the source gave up; it says why in a sentence */
  CTPROF_NOT_IN_FILE = 11,    /* the file does not hold it; not for plugins */
  CTPROF_UNSEEN = 12, /* beyond the sight of the source that lists: the next offer fills it; never
                         in a finished snapshot */
  CTPROF_NO_BASE =
      13, /* a counter whose value at the opening of the window is not known; not for plugins */
  CTPROF_WENT_BACKWARDS = 14 /* a counter that was smaller at the end of the window than at its
                                opening; not for plugins */
};

struct ctprof_text {
  const char* data; /* not NUL-terminated */
  size_t size;
};

struct ctprof_entry {
  struct ctprof_text key;
  uint64_t value;
};

/* A constant array: where it is, how many items, and how large one is. */
struct ctprof_array {
  const void* items;
  uint32_t count;
  uint32_t item_size;
};
#define CTPROF_ARRAY_OF(array) \
  { (array), (uint32_t)(sizeof(array) / sizeof((array)[0])), (uint32_t)sizeof((array)[0]) }

#ifdef __cplusplus
}
#endif

#endif
