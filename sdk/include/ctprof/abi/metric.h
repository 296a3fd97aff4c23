/* ctprof/abi/metric.h: metrics, derived metrics, and how they are shown. Part of ctprof/abi.h,
 * which says how all of it may change; include that. */
#ifndef CTPROF_ABI_METRIC_H
#define CTPROF_ABI_METRIC_H

#include "ctprof/abi/cells.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t ctprof_metric_flags;
enum {
  CTPROF_METRIC_HIDDEN = 1, /* a column between sources: never listed, shown or written */
  CTPROF_METRIC_MARK =
      2, /* true where any metric that names it as its `mark` has a value; the core fills it */
  CTPROF_METRIC_SETTING =
      4, /* somebody's choice (an affinity, a limit): a comparison tells that it changed */
  CTPROF_METRIC_COSTLY = 8 /* reading it costs as much as everything else: at a window's opening
                              only when it was asked for */
};

/* How the figure of a headline is shown. */
typedef uint32_t ctprof_shown;
enum {
  CTPROF_SHOWN_PERCENT = 0, /* of one CPU, or of the time that passed: a time over a time */
  CTPROF_SHOWN_RATE = 1,    /* per second */
  CTPROF_SHOWN_LEVEL = 2    /* as it is, and how much it changed */
};

typedef uint32_t ctprof_headline_flags;
enum {
  CTPROF_HEADLINE_BY_CHANGE =
      1 /* orders rows only where two windows are compared, by how much it changed */
};

/* A column of the first screen. */
struct ctprof_headline {
  uint32_t size;
  uint32_t order; /* the smallest stands first; columns of a third party, at most three, come after
                     ours */
  const char* label; /* "%wait" */
  ctprof_shown shown;
  ctprof_headline_flags flags;
  double floor; /* below it a group is quiet; per second where a rate or a percentage is shown, in
                   the metric's unit */
};

/* One column of one entity. */
struct ctprof_metric {
  uint32_t size; /* sizeof(struct ctprof_metric) */
  ctprof_entity entity;
  ctprof_storage storage;
  ctprof_metric_flags flags;
  const char* name; /* lower case, stable for ever; a third party's begins with its plugin's name */
  const char* newtype; /* what a reading is: "MonotonicNs", "PeakBytes" ... */
  const char* rule; /* how a group's readings become one: "SumNs", "MaxPeakBytes" ... or a rule of
                       the plugin's own */
  const char* unit; /* NULL: the newtype's */
  const char*
      family; /* cumulative, peak, gauge, categorical, limit, identity; NULL: the newtype's */
  const char* section;       /* where show and compare put it; NULL: "primary" */
  const char* sched_class;   /* cfs-only, non-ext, fair-policy, or NULL */
  const char* config_gates;  /* kernel options it needs, with commas between */
  const char* applies_to;    /* all, leader, user, fair ... for the reader; NULL: all */
  const char* since;         /* kernel version, for the reader */
  const char* source;        /* path or interface, for the reader */
  const char* description;   /* one sentence */
  const char* kernel_writer; /* the kernel function that writes it */
  const char* caveat;        /* what it is not */
  const char* file_path; /* "threads[].name"; NULL: the entity's table and the name; "none": not in
                            the file */
  const char* file_aliases; /* other spellings of the last key, with commas between */
  const char* file_unit;    /* how the file writes it, where that differs: "cpus", "0-or-1" */
  const char* file_absent; /* JSON that stands for no value: "0", "null"; NULL or "omit": the key is
                              left out */
  const char* mark;        /* the mark that is true where this one has a value */
  const char* map_keys;    /* for maps: "gauge bytes: anon file; counter ns: X_*" */
  /* Since windows. */
  const struct ctprof_headline* headline
      CTPROF_TAIL;  /* NULL: it is no column of the first screen */
  const char* role; /* what the accounting of a window takes it for: "run-time", "wait-time" ...;
                       ctprof's own plugins alone; NULL: nothing */
};

/* A metric computed per group from aggregates of others. */
struct ctprof_derived {
  uint32_t size;
  ctprof_entity entity;
  const char* name;
  const char* expression; /* "a / (a + b?)": + - * / max(); a trailing ? marks an input that may be
                             missing */
  const char* unit;       /* "ratio", "ns" ... */
  const char* family;     /* NULL: gauge */
  const char* section;
  const char* sched_class;
  const char* config_gates;
  const char* applies_to;
  const char* description;
  const char* caveat;
  /* Since windows; as in ctprof_metric. */
  const struct ctprof_headline* headline CTPROF_TAIL;
  const char* role CTPROF_TAIL;
};

#ifdef __cplusplus
}
#endif

#endif
