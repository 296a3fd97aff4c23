/* ctprof/abi/rule.h: rules, which reduce the readings of a group to one value. Part of
 * ctprof/abi.h, which states the compatibility rules; include ctprof/abi.h instead.
 *
 * A rule is a state and functions on it. ctprof allocates one state for each group. `add` adds rows
 * to states, `merge` joins the states of several workers, and other functions return the result as
 * a number, a text or JSON:
 *
 *     struct mean { uint64_t sum, count; };            a zeroed state is valid: no `init`
 *     add:    for each row that has a group and a value, sum += value, ++count
 *     merge:  sum and count of one added to the other
 *     number: sum / count, or CTPROF_NUMBER_NONE when count is 0
 *
 * The complete `add`:
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
 * The built-in rules use the same struct. Define a rule of your own only if none of them computes
 * the value that you need.
 */
#ifndef CTPROF_ABI_RULE_H
#define CTPROF_ABI_RULE_H

#include "ctprof/abi/cells.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One stack of a weighted set: its index and its weight. */
struct ctprof_stack {
  uint64_t stack;
  uint64_t weight;
};

/* Rows of one column, each with the index of its group. */
struct ctprof_rows {
  uint32_t size;
  ctprof_storage storage;
  uint64_t count;
  /* Index of the first row in its table. */
  uint64_t first_row;
  /* Index of the row's state; UINT32_MAX: the row belongs to no group, skip it. */
  const uint32_t* groups;
  /* Ignore the value of a row that has a gap. NULL: every row has a value. */
  const ctprof_gap* gaps;
  /* uint64_t, int64_t, double or uint8_t; for the other storages uint32_t ids, which are equal for
   * equal content. So compare ids first, and look up each distinct id once. */
  const void* values;
  const void* core;
  /* Return the content of an id; it is valid as long as the snapshot. */
  struct ctprof_text (*text)(const void* core, uint32_t id);
  /* The words of a bitset, or the elements of an array. */
  const uint64_t* (*bits)(const void* core, uint32_t id, size_t* words);
  const struct ctprof_entry* (*map)(const void* core, uint32_t id, size_t* entries);
  /* As in ctprof_metric. */
  const char* map_keys;
  /* Added with windows (record.h); NULL in a core without stacks. */
  const struct ctprof_stack* (*stacks)(const void* core, uint32_t id, size_t* stacks)CTPROF_TAIL;
  /* Returns the indexes of a stack's frames, leaf first. */
  const uint32_t* (*frames)(const void* core, uint64_t stack, size_t* frames)CTPROF_TAIL;
};

/* A number. Integers are exact: a u64 is not converted to double, which would lose its last digits.
 */
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
  /* No number, because no row of the group had a value. Not the same as zero. */
  CTPROF_NUMBER_NONE = 0,
  CTPROF_NUMBER_U64 = 1,
  CTPROF_NUMBER_I64 = 2,
  CTPROF_NUMBER_F64 = 3
};

/* Receives text and appends the text of each call. */
struct ctprof_sink {
  uint32_t size;
  uint32_t reserved;
  void* core;
  void (*put)(void* core, const char* data, size_t size);
};

/* Receives the parts of a value, in the order of their keys' bytes. An empty unit means the unit of
 * the metric. */
struct ctprof_parts {
  uint32_t size;
  uint32_t reserved;
  void* core;
  void (*put)(void* core, struct ctprof_text key, struct ctprof_number value,
              struct ctprof_text unit);
};

/* How a rule reduces many values to one. It determines what a report can show in addition to the
 * value. */
typedef uint32_t ctprof_reduction;
enum {
  CTPROF_REDUCES_OTHERWISE = 0,
  /* A report also shows the shares of started and exited threads, and the thread with the largest
   * share. */
  CTPROF_REDUCES_BY_SUM = 1,
  CTPROF_REDUCES_BY_MAX = 2,
  CTPROF_REDUCES_BY_MIN = 3,
  CTPROF_REDUCES_TO_RANGE = 4,
  CTPROF_REDUCES_TO_MODE = 5,
  CTPROF_REDUCES_TO_AFFINITY = 6,
  CTPROF_REDUCES_BY_KEY = 7
};

/* A rule. Adding and merging must be associative and independent of order: rows come in any order,
 * from several workers, and the result must always be the same.
 *
 * No function may fail, keep its arguments, or keep data outside the state. Two functions may run
 * concurrently on different states. */
struct ctprof_rule {
  uint32_t size;
  /* Size of one state, at most 64 KiB. States are zeroed before `init`. */
  uint32_t state_size;
  /* Begins with the plugin's name and "_"; it differs from the names of built-in rules. */
  const char* name;
  /* A built-in rule that replaces this one on hosts without this plugin. A file with the metric can
   * be shown there, and the report names the missing rule. */
  const char* fallback;
  /* The newtypes that the rule supports, separated by commas. */
  const char* newtypes;
  /* A description for `ctprof help METRIC`: "the mean of the group". */
  const char* description CTPROF_OPTIONAL;
  /* NULL: a zeroed state is valid. */
  void (*init)(void* state) CTPROF_OPTIONAL;
  /* The state of group g is at (char*)states + g * state_size. */
  void (*add)(void* states, const struct ctprof_rows* rows);
  /* Both states belong to one group. `from` is destroyed afterwards. */
  void (*merge)(void* into, const void* from);
  /* Called once, after the last add or merge; may be NULL. */
  void (*finish)(void* state) CTPROF_OPTIONAL;
  /* Releases what the state owns, not the state itself; may be NULL. */
  void (*destroy)(void* state) CTPROF_OPTIONAL;
  /* The value as a number. NULL: there is never a number. `number` or `text` is required. */
  struct ctprof_number (*number)(const void* state) CTPROF_OPTIONAL;
  /* Returns the difference as a number if it has one, and otherwise writes text such as "differs".
   * NULL: the difference of the two numbers. */
  struct ctprof_number (*delta)(const void* baseline, const void* candidate,
                                const struct ctprof_sink* text) CTPROF_OPTIONAL;
  /* The value as text. NULL: the number in its unit. */
  void (*text)(const void* state, const char* unit, const struct ctprof_sink* text) CTPROF_OPTIONAL;
  /* The value as one JSON value. NULL: the number. */
  void (*json)(const void* state, const struct ctprof_sink* json) CTPROF_OPTIONAL;
  /* Further named values, as members of a JSON object without its braces; may be NULL. */
  void (*extras)(const void* state, const struct ctprof_sink* json) CTPROF_OPTIONAL;
  /* The parts of a value that consists of several numbers, such as a map. Each part is shown and
   * subtracted separately. May be NULL. */
  void (*parts)(const void* state, const struct ctprof_parts* parts) CTPROF_OPTIONAL;
  /* Added with windows (record.h). */
  ctprof_reduction reduction CTPROF_TAIL;
  uint32_t reserved CTPROF_TAIL;
};

#ifdef __cplusplus
}
#endif

#endif
