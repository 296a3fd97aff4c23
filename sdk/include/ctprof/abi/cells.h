/* ctprof/abi/cells.h: the values of cells, and the reasons why a cell has no value. Part of
 * ctprof/abi.h, which states the compatibility rules; include ctprof/abi.h instead.
 *
 * A cell is one metric of one row, such as the run time of thread 7. It contains either a value or
 * exactly one gap. There is no third state. Zero is a value like any other: a plugin that cannot
 * determine a value writes the reason as a gap, and never writes 0 instead.
 */
#ifndef CTPROF_ABI_CELLS_H
#define CTPROF_ABI_CELLS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Follows a field that was added after the first release of version 1. In C++ the field is zero if
 * an initializer does not name it, so older code still compiles without warnings. */
#ifdef __cplusplus
#define CTPROF_TAIL \
  {}
#else
#define CTPROF_TAIL
#endif
/* Marks a field that an initializer may omit. In C++ the field is then zero, without a warning. */
#define CTPROF_OPTIONAL CTPROF_TAIL

/* The maximum number of rows of an entity of a plugin in one capture. */
#define CTPROF_MAX_ENTITY_ROWS 4096u

/* The maximum number of rows in one call of `collect`. Buffers of this many items suffice for any
 * batch. */
#define CTPROF_MAX_ROWS 1024u

/* The maximum number of keys in the map of one cell, and of bytes in a key. ctprof keeps the first
 * keys, ordered by their bytes, and reports how many it dropped. A map with a longer key becomes
 * the gap CTPROF_MALFORMED. */
#define CTPROF_MAX_MAP_KEYS 4096u
#define CTPROF_MAX_KEY_BYTES 65536u

/* The kind of object that a row describes. There is one process row for each distinct tgid, one
 * cgroup row for each distinct path, and one row for the host. */
typedef uint32_t ctprof_entity;
enum {
  CTPROF_THREAD = 0,
  CTPROF_PROCESS = 1,
  CTPROF_CGROUP = 2,
  CTPROF_HOST = 3,
  /* The entity of the source that offers the metric (ctprof_entity_type). Only for metrics that are
   * offered by sources of the stages CTPROF_STAGE_ENTITY_LIST and CTPROF_STAGE_ENTITY. */
  CTPROF_ENTITY_OF_SOURCE = 4
};

/* How a cell is stored. The newtype of a metric determines it (kNewtypes in newtypes.hpp); a table
 * with a different storage is refused. */
typedef uint32_t ctprof_storage;
enum {
  /* The source writes the first four directly into an array of their type. */
  CTPROF_U64 = 0,
  CTPROF_I64 = 1,
  /* a double; a value that is not finite becomes the gap CTPROF_MALFORMED */
  CTPROF_F64 = 2,
  /* one byte, 0 or 1 */
  CTPROF_BOOL = 3,
  /* The source passes the others to a function, which copies them. */
  /* bytes, by convention UTF-8; other bytes are kept unchanged */
  CTPROF_STRING = 4,
  /* bit n is bit n % 64 of word n / 64 */
  CTPROF_BITSET = 5,
  /* string to u64; keys must be unique, and have the form of labels.h if the metric has two labels
   */
  CTPROF_MAP = 6,
  /* of u64: the buckets of a histogram (histogram.h) */
  CTPROF_ARRAY = 7,
  /* a weighted set of call stacks; filled only by records (record.h) */
  CTPROF_STACKS = 8
};

/* The reason why a cell has no value, one byte per cell; 0 means that it has one. These numbers are
 * stored in files and never change.
 *
 * Select the gap precisely: UNSUPPORTED (not available on this host), DENIED (not permitted),
 * THREAD_GONE (the thread exited) and MALFORMED (not parseable) each lead the user to a different
 * action. */
typedef uint8_t ctprof_gap;
enum {
  CTPROF_VALUE = 0,
  /* No source wrote the cell. Cells are passed to the source in this state. A cell that remains in
   * it is an error of the source and becomes SOURCE_FAILED. */
  CTPROF_UNTOUCHED = 1,
  /* The metric does not apply to this row, such as user memory of a kernel thread. */
  CTPROF_NOT_APPLICABLE = 2,
  /* The thread or process exited before the cell was read. This is normal and requires no action.
   */
  CTPROF_THREAD_GONE = 3,
  /* ctprof is not permitted to read it. */
  CTPROF_DENIED = 4,
  /* This kernel or its configuration does not provide it. Preferably reported once, in `probe`. */
  CTPROF_UNSUPPORTED = 5,
  /* A setting that can be changed while the kernel runs is off. */
  CTPROF_SWITCHED_OFF = 6,
  /* The setting is on, but the thread started earlier and is not counted. */
  CTPROF_PREDATES_SWITCH = 7,
  /* The data could not be parsed. Not for missing data. */
  CTPROF_MALFORMED = 8,
  /* The target is traced by another process, stopped, or not responding in time; another attempt
   * may succeed. */
  CTPROF_BUSY = 9,
  /* The source failed; its message states why. */
  CTPROF_SOURCE_FAILED = 10,
  /* The file does not contain the metric. Not for plugins. */
  CTPROF_NOT_IN_FILE = 11,
  /* The lister found the thread but cannot read this metric, and leaves the cell to the next offer
   * of the metric. Never in a finished snapshot. */
  CTPROF_UNSEEN = 12,
  /* A counter whose value at the opening of the window is unknown. Not for plugins. */
  CTPROF_NO_BASE = 13,
  /* A counter that was smaller at the end of the window than at its opening. Not for plugins. */
  CTPROF_WENT_BACKWARDS = 14
};

/* A text with its length. It need not end with a NUL, and may contain NULs. */
struct ctprof_text {
  const char* data;
  size_t size;
};

/* One key of a map and its number. */
struct ctprof_entry {
  struct ctprof_text key;
  uint64_t value;
};

/* A constant array: its address, the number of items, and the size of one item. The item size lets
 * structs grow: a reader advances by this size, not by its own sizeof. */
struct ctprof_array {
  const void* items;
  uint32_t count;
  uint32_t item_size;
};
/* Makes a ctprof_array from a C array: `.sources = CTPROF_ARRAY_OF(kSources)`. */
#define CTPROF_ARRAY_OF(array) \
  { (array), (uint32_t)(sizeof(array) / sizeof((array)[0])), (uint32_t)sizeof((array)[0]) }

#ifdef __cplusplus
}
#endif

#endif
