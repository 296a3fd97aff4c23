/* ctprof/abi/rule.h: rules: how the readings of a group become one value. Part of ctprof/abi.h,
 * which says how all of it may change; include that. */
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
  uint64_t first_row;     /* number of the first row in its table */
  const uint32_t* groups; /* index of the group's state; UINT32_MAX: the row counts nowhere */
  const ctprof_gap* gaps; /* NULL: every row has a value */
  const void* values; /* uint64_t, int64_t, double or uint8_t; for the other storages uint32_t ids,
                         equal for equal content */
  const void* core;
  /* What an id stands for; valid as long as the snapshot. */
  struct ctprof_text (*text)(const void* core, uint32_t id);
  const uint64_t* (*bits)(const void* core, uint32_t id, size_t* words);
  const struct ctprof_entry* (*map)(const void* core, uint32_t id, size_t* entries);
  const char* map_keys; /* of the metric */
  /* Since windows; NULL in a core that has no stacks. */
  const struct ctprof_stack* (*stacks)(const void* core, uint32_t id, size_t* stacks)CTPROF_TAIL;
  /* Numbers of a stack's frames, leaf first. */
  const uint32_t* (*frames)(const void* core, uint64_t stack, size_t* frames)CTPROF_TAIL;
};

/* A number, exact where it is an integer. */
struct ctprof_number {
  uint32_t kind; /* 0 none, 1 u64, 2 i64, 3 f64 */
  uint32_t reserved;
  union {
    uint64_t u64;
    int64_t i64;
    double f64;
  };
};
enum {
  CTPROF_NUMBER_NONE = 0,
  CTPROF_NUMBER_U64 = 1,
  CTPROF_NUMBER_I64 = 2,
  CTPROF_NUMBER_F64 = 3
};

/* Takes text as often as it is called. */
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

/* What kind of value a rule makes of many. */
typedef uint32_t ctprof_reduction;
enum {
  CTPROF_REDUCES_OTHERWISE = 0,
  CTPROF_REDUCES_BY_SUM = 1, /* parts of it are told: "of which" by threads that came and went, and
                                the thread with most of it */
  CTPROF_REDUCES_BY_MAX = 2,
  CTPROF_REDUCES_BY_MIN = 3,
  CTPROF_REDUCES_TO_RANGE = 4,
  CTPROF_REDUCES_TO_MODE = 5,
  CTPROF_REDUCES_TO_AFFINITY = 6,
  CTPROF_REDUCES_BY_KEY = 7
};

/* How readings become one value. Adding and merging must be associative and free of order. States
 * are zeroed before `init`. */
struct ctprof_rule {
  uint32_t size;
  uint32_t state_size;
  const char* name;
  const char* fallback; /* a built-in rule, for machines without this plugin */
  const char* newtypes; /* those it is legal for, with commas between */
  const char* description;
  void (*init)(void* state);                                 /* NULL: zeroes are fine */
  void (*add)(void* states, const struct ctprof_rows* rows); /* states[group], state_size apart */
  void (*merge)(void* into, const void* from);
  void (*finish)(void* state);  /* once, after the last add or merge; may be NULL */
  void (*destroy)(void* state); /* may be NULL */
  struct ctprof_number (*number)(const void* state); /* NULL: it has none */
  /* NULL: the difference of the two numbers. Otherwise the number if there is one, or else text
   * such as "differs". */
  struct ctprof_number (*delta)(const void* baseline, const void* candidate,
                                const struct ctprof_sink* text);
  void (*text)(const void* state, const char* unit,
               const struct ctprof_sink* text); /* NULL: the number in its unit */
  void (*json)(const void* state, const struct ctprof_sink* json); /* NULL: the number */
  /* Named values beside the main one, as members of a JSON object without its braces; may be NULL.
   */
  void (*extras)(const void* state, const struct ctprof_sink* json);
  /* The parts of a value that is several numbers, such as a map: each is shown, and subtracted, by
   * itself. May be NULL. */
  void (*parts)(const void* state, const struct ctprof_parts* parts);
  /* Since windows. */
  ctprof_reduction reduction CTPROF_TAIL;
  uint32_t reserved CTPROF_TAIL;
};

#ifdef __cplusplus
}
#endif

#endif
