/* ctprof/abi/rule.h: rules: how the readings of a group become one value. Part of ctprof/abi.h,
 * which says how all of it may change; include that.
 *
 * A rule is a state and functions on it. ctprof makes a state for each group, has `add` take rows
 * in, `merge` join states of several workers, and asks the result for a number, a text or JSON:
 *
 *     struct mean { uint64_t sum, count; };            zeroes are a fine beginning: no `init`
 *     add:    for each row that has a group and a value, sum += value, ++count
 *     merge:  sum and count of one added to the other
 *     number: sum / count, or CTPROF_NUMBER_NONE when count is 0
 *
 * Written out:
 *
 *     static void add(void* states, const struct ctprof_rows* rows) {
 *       const uint64_t* values = rows->values;
 *       for (uint64_t i = 0; i < rows->count; ++i) {
 *         if (rows->groups[i] == UINT32_MAX) continue;
 *         if (rows->gaps && rows->gaps[i] != CTPROF_VALUE) continue;
 *         struct mean* mean = (struct mean*)states + rows->groups[i];
 *         mean->sum += values[i];
 *         ++mean->count;
 *       }
 *     }
 *
 * The built-in rules are made of the very same struct. Look there first: a rule of your own is
 * needed only where none of them says what you mean.
 */
#ifndef CTPROF_ABI_RULE_H
#define CTPROF_ABI_RULE_H

#include "ctprof/abi/cells.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One stack of a weighted set: its number, and its weight. */
struct ctprof_stack {
  uint64_t stack;
  uint64_t weight;
};

/* Rows of one column, each with the group that it belongs to. */
struct ctprof_rows {
  uint32_t size;
  ctprof_storage storage;
  uint64_t count;
  /* Number of the first row in its table. */
  uint64_t first_row;
  /* Index of the row's state; UINT32_MAX: the row counts nowhere, skip it. */
  const uint32_t* groups;
  /* A row that has a gap has no value to look at. NULL: every row has a value. */
  const ctprof_gap* gaps;
  /* uint64_t, int64_t, double or uint8_t; for the other storages uint32_t ids, equal for equal
   * content. So compare ids first, and look each distinct id up once. */
  const void* values;
  const void* core;
  /* The content of an id; valid as long as the snapshot. */
  struct ctprof_text (*text)(const void* core, uint32_t id);
  const uint64_t* (*bits)(const void* core, uint32_t id, size_t* words);
  const struct ctprof_entry* (*map)(const void* core, uint32_t id, size_t* entries);
  /* Of the metric (ctprof_metric). */
  const char* map_keys;
  /* Since windows; NULL in a core that has no stacks. */
  const struct ctprof_stack* (*stacks)(const void* core, uint32_t id, size_t* stacks)CTPROF_TAIL;
  /* Numbers of a stack's frames, leaf first. */
  const uint32_t* (*frames)(const void* core, uint64_t stack, size_t* frames)CTPROF_TAIL;
};

/* A number, exact where it is an integer: a u64 does not lose its last digits on the way through a
 * double. */
struct ctprof_number {
  /* CTPROF_NUMBER_... */
  uint32_t kind;
  uint32_t reserved;
  union {
    uint64_t u64;
    int64_t i64;
    double f64;
  };
};
enum {
  /* There is none: no row of the group had a value. Not the same as zero. */
  CTPROF_NUMBER_NONE = 0,
  CTPROF_NUMBER_U64 = 1,
  CTPROF_NUMBER_I64 = 2,
  CTPROF_NUMBER_F64 = 3
};

/* Takes text as often as it is called, and strings it together. */
struct ctprof_sink {
  uint32_t size;
  uint32_t reserved;
  void* core;
  void (*put)(void* core, const char* data, size_t size);
};

/* Takes the parts of a value, in the order of their keys' bytes. An empty unit is the metric's. */
struct ctprof_parts {
  uint32_t size;
  uint32_t reserved;
  void* core;
  void (*put)(void* core, struct ctprof_text key, struct ctprof_number value,
              struct ctprof_text unit);
};

/* What kind of value a rule makes of many. It decides what a report may say beside the value. */
typedef uint32_t ctprof_reduction;
enum {
  CTPROF_REDUCES_OTHERWISE = 0,
  /* A report shows parts of it: by threads that came and went, and the thread with most of it. */
  CTPROF_REDUCES_BY_SUM = 1,
  CTPROF_REDUCES_BY_MAX = 2,
  CTPROF_REDUCES_BY_MIN = 3,
  CTPROF_REDUCES_TO_RANGE = 4,
  CTPROF_REDUCES_TO_MODE = 5,
  CTPROF_REDUCES_TO_AFFINITY = 6,
  CTPROF_REDUCES_BY_KEY = 7
};

/* How readings become one value. Adding and merging must be associative and free of order: rows
 * come in any order, from several workers, and the result must be the same each time.
 *
 * None of the functions may fail, keep what it is handed, or keep anything outside the state. Two
 * may run at once, on different states. */
struct ctprof_rule {
  uint32_t size;
  /* Of one state, at most 64 KiB. States are zeroed before `init`. */
  uint32_t state_size;
  /* Begins with the plugin's name and "_"; no built-in rule's. */
  const char* name;
  /* A built-in rule, for machines without this plugin. A file that holds the metric can be shown
   * there, and says whose rule is missing. */
  const char* fallback;
  /* Those it is legal for, with commas between. */
  const char* newtypes;
  /* What it does, for `ctprof help METRIC`: "the mean of the group". */
  const char* description CTPROF_OPTIONAL;
  /* NULL: zeroes are fine. */
  void (*init)(void* state) CTPROF_OPTIONAL;
  /* The state of group g is at (char*)states + g * state_size. */
  void (*add)(void* states, const struct ctprof_rows* rows);
  /* Both states are of one group. `from` is destroyed afterwards. */
  void (*merge)(void* into, const void* from);
  /* Once, after the last add or merge; may be NULL. */
  void (*finish)(void* state) CTPROF_OPTIONAL;
  /* Releases what the state owns, not the state itself; may be NULL. */
  void (*destroy)(void* state) CTPROF_OPTIONAL;
  /* The value as a number. NULL: it never has one. Either this or `text` must be there. */
  struct ctprof_number (*number)(const void* state) CTPROF_OPTIONAL;
  /* NULL: the difference of the two numbers. Otherwise the number if there is one, or else text
   * such as "differs". */
  struct ctprof_number (*delta)(const void* baseline, const void* candidate,
                                const struct ctprof_sink* text) CTPROF_OPTIONAL;
  /* For people. NULL: the number in its unit. */
  void (*text)(const void* state, const char* unit, const struct ctprof_sink* text) CTPROF_OPTIONAL;
  /* For programs: one JSON value. NULL: the number. */
  void (*json)(const void* state, const struct ctprof_sink* json) CTPROF_OPTIONAL;
  /* Named values beside the main one, as members of a JSON object without its braces; may be NULL.
   */
  void (*extras)(const void* state, const struct ctprof_sink* json) CTPROF_OPTIONAL;
  /* The parts of a value that is several numbers, such as a map: each is shown, and subtracted, by
   * itself. May be NULL. */
  void (*parts)(const void* state, const struct ctprof_parts* parts) CTPROF_OPTIONAL;
  /* Since windows. */
  ctprof_reduction reduction CTPROF_TAIL;
  uint32_t reserved CTPROF_TAIL;
};

#ifdef __cplusplus
}
#endif

#endif
