/* ctprof/abi/cells.h: what a cell can hold, and why it may hold nothing. Part of ctprof/abi.h,
 * which says how all of it may change; include that.
 *
 * A cell is one metric of one row: the run time of thread 7, say. It holds a value or exactly one
 * gap. There is no third state, and zero is a value like any other: a plugin that does not know
 * must say why it does not, and never writes 0 in place of that.
 */
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
/* Marks a field that an initializer may leave out: in C++ it is zero then, without a warning. */
#define CTPROF_OPTIONAL CTPROF_TAIL

/* The most rows that one call of `collect` is handed. Buffers of this many items are enough for
 * any batch. */
#define CTPROF_MAX_ROWS 1024u

/* What a row is about. A process row is a distinct tgid, a cgroup row a distinct path, and of the
 * host there is one row. */
typedef uint32_t ctprof_entity;
enum { CTPROF_THREAD = 0, CTPROF_PROCESS = 1, CTPROF_CGROUP = 2, CTPROF_HOST = 3 };

/* How a cell is stored. A metric's newtype decides it (kNewtypes in newtypes.hpp); a table that
 * says otherwise is refused. */
typedef uint32_t ctprof_storage;
enum {
  /* The first four are written straight into an array of their type. */
  CTPROF_U64 = 0,
  CTPROF_I64 = 1,
  /* a double; one that is not finite becomes a gap, CTPROF_MALFORMED */
  CTPROF_F64 = 2,
  /* one byte, 0 or 1 */
  CTPROF_BOOL = 3,
  /* The others are handed over by a function, which copies them. */
  /* bytes, by convention UTF-8; others are kept as they are */
  CTPROF_STRING = 4,
  /* bit n is bit n % 64 of word n / 64 */
  CTPROF_BITSET = 5,
  /* string to u64; no key may be in it twice */
  CTPROF_MAP = 6,
  /* of u64 */
  CTPROF_ARRAY = 7,
  /* a weighted set of call stacks; filled by records alone (record.h) */
  CTPROF_STACKS = 8
};

/* Why a cell holds no value. One byte per cell; 0 says that it holds one. These numbers reach the
 * file, so they never change.
 *
 * Be exact: "unavailable here" (UNSUPPORTED), "must not be seen by us" (DENIED), "was gone"
 * (THREAD_GONE) and "could not be understood" (MALFORMED) send the reader of a report in four
 * different directions. */
typedef uint8_t ctprof_gap;
enum {
  CTPROF_VALUE = 0,
  /* Nobody wrote the cell. Cells come to you like this; one that you leave so is a fault of yours,
   * and becomes SOURCE_FAILED. */
  CTPROF_UNTOUCHED = 1,
  /* The question has no meaning for this row: the memory of a kernel thread. */
  CTPROF_NOT_APPLICABLE = 2,
  /* It ended before the cell was read. This is usual, and nothing that anybody need act on. */
  CTPROF_THREAD_GONE = 3,
  /* We are not permitted to see it. */
  CTPROF_DENIED = 4,
  /* This kernel or its configuration does not have it. Best said once, in `probe`. */
  CTPROF_UNSUPPORTED = 5,
  /* A switch that can be turned while the kernel runs is off. */
  CTPROF_SWITCHED_OFF = 6,
  /* The switch is on, but the thread is older, and is not counted. */
  CTPROF_PREDATES_SWITCH = 7,
  /* The answer could not be understood. Not for an answer that is missing. */
  CTPROF_MALFORMED = 8,
  /* Traced by someone else, stopped, or not answering in time; another attempt may succeed. */
  CTPROF_BUSY = 9,
  /* The source gave up; it says why in a sentence. */
  CTPROF_SOURCE_FAILED = 10,
  /* The file does not hold it. Not for plugins. */
  CTPROF_NOT_IN_FILE = 11,
  /* A lister that knows of the thread, but cannot see this figure, leaves the cell to the next
   * offer of the metric. Never in a finished snapshot. */
  CTPROF_UNSEEN = 12,
  /* A counter whose value at the opening of the window is not known. Not for plugins. */
  CTPROF_NO_BASE = 13,
  /* A counter that was smaller at the end of the window than at its opening. Not for plugins. */
  CTPROF_WENT_BACKWARDS = 14
};

/* A text by its length. It need not end with a NUL, and may hold one. */
struct ctprof_text {
  const char* data;
  size_t size;
};

/* One key of a map, with its number. */
struct ctprof_entry {
  struct ctprof_text key;
  uint64_t value;
};

/* A constant array: where it is, how many items, and how large one is. The size of an item is what
 * lets structs grow: a reader goes from item to item by it, not by its own sizeof. */
struct ctprof_array {
  const void* items;
  uint32_t count;
  uint32_t item_size;
};
/* Such an array of a C array: `.sources = CTPROF_ARRAY_OF(kSources)`. */
#define CTPROF_ARRAY_OF(array) \
  { (array), (uint32_t)(sizeof(array) / sizeof((array)[0])), (uint32_t)sizeof((array)[0]) }

#ifdef __cplusplus
}
#endif

#endif
