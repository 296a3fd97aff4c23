/* ctprof/abi/metric.h: metrics, derived metrics, and their presentation. Part of ctprof/abi.h,
 * which states the compatibility rules; include ctprof/abi.h instead.
 *
 * Every file that contains a metric also contains its definition, so a snapshot can be shown and
 * compared where the plugin is not installed. Therefore a definition is data, is complete, and has
 * a permanent name. A change of meaning needs a new name.
 *
 * All strings are UTF-8 and end with a NUL; an absent one is NULL or "".
 */
#ifndef CTPROF_ABI_METRIC_H
#define CTPROF_ABI_METRIC_H

#include "ctprof/abi/cells.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t ctprof_metric_flags;
enum {
  /* A column that only passes data between sources: never listed, shown or written. Its name must
   * not look like that of a metric. */
  CTPROF_METRIC_HIDDEN = 1,
  /* True where any metric that names it as its `mark` has a value. The core fills it; no
   * source offers it. */
  CTPROF_METRIC_MARK = 2,
  /* A value that an administrator sets (an affinity, a limit): a comparison reports its change. */
  CTPROF_METRIC_SETTING = 4,
  /* Reading it takes as long as reading everything else: `record` omits it unless it is requested.
   */
  CTPROF_METRIC_COSTLY = 8,
  /* A metric of a recorder: it covers the window even if others of its family, such as peaks, cover
   * the whole life of a thread. */
  CTPROF_METRIC_OF_WINDOW = 16
};

/* How the value of a headline is shown. */
typedef uint32_t ctprof_shown;
enum {
  /* of one CPU, or of the elapsed time: a time divided by a time */
  CTPROF_SHOWN_PERCENT = 0,
  /* per second */
  CTPROF_SHOWN_RATE = 1,
  /* the current value and its change */
  CTPROF_SHOWN_LEVEL = 2
};

typedef uint32_t ctprof_headline_flags;
enum {
  /* Does not affect the order of rows, because a share of it is not a cost, such as voluntary
   * sleep. */
  CTPROF_HEADLINE_BY_CHANGE = 1
};

/* A column of the first screen. Request one only if users who do not know your plugin should see
 * the value; space on the screen is scarce. */
struct ctprof_headline {
  uint32_t size;
  /* Columns are sorted by this number, the smallest first. Columns of a third party, at most three,
   * come after those of ctprof. */
  uint32_t order CTPROF_OPTIONAL;
  /* Short, including the kind of value: "%wait", "migr/s". */
  const char* label;
  ctprof_shown shown;
  ctprof_headline_flags flags CTPROF_OPTIONAL;
  /* A group whose value is smaller is quiet. Per second if a rate or a percentage is shown,
   * otherwise in the metric's unit. Rows are ordered by their share of the host's time, or of the
   * bytes that are used or transferred. */
  double floor CTPROF_OPTIONAL;
};

/* One column of one entity. Newtype and rule must fit each other: newtypes.hpp has the table of
 * legal pairs, and any other pair is refused with a message. */
struct ctprof_metric {
  /* sizeof(struct ctprof_metric) */
  uint32_t size;
  /* The kind of row, and how a cell is stored. */
  ctprof_entity entity CTPROF_OPTIONAL;
  ctprof_storage storage CTPROF_OPTIONAL;
  ctprof_metric_flags flags CTPROF_OPTIONAL;
  /* Lower case letters, digits, _ and dots, beginning with a letter; it never changes. The name of
   * a third party's metric begins with the name of its plugin and "_". */
  const char* name;
  /* The type of a reading: "MonotonicNs", "PeakBytes" ... */
  const char* newtype;
  /* How the readings of a group become one value: "SumNs", "MaxPeakBytes" ... or a rule of the
   * plugin. */
  const char* rule;
  /* NULL: the unit of the newtype. */
  const char* unit CTPROF_OPTIONAL;
  /* How it behaves over time: cumulative, peak, gauge, categorical, limit, identity; NULL: the
   * family of the newtype. Only cumulative metrics become rates. */
  const char* family CTPROF_OPTIONAL;
  /* Its section in reports (newtypes.hpp); NULL: "primary". */
  const char* section CTPROF_OPTIONAL;
  /* The scheduling class of the threads that have it: cfs-only, non-ext, fair-policy, or NULL. */
  const char* sched_class CTPROF_OPTIONAL;
  /* Kernel options that it needs, separated by commas: "CONFIG_SCHED_INFO". */
  const char* config_gates CTPROF_OPTIONAL;
  /* The rows that it applies to, for the reader: all, leader, user, fair ...; NULL: all. */
  const char* applies_to CTPROF_OPTIONAL;
  /* The first kernel version that has it, for the reader: "6.12". */
  const char* since CTPROF_OPTIONAL;
  /* The kernel interface that provides it, for the reader:
   * "/proc/<tgid>/task/<tid>/sched:wait_max". */
  const char* source CTPROF_OPTIONAL;
  /* Its meaning in one sentence. */
  const char* description CTPROF_OPTIONAL;
  /* The kernel function that writes it, for readers who check the source: "update_curr()". */
  const char* kernel_writer CTPROF_OPTIONAL;
  /* Its limits and possible misreadings. State what you had to find out yourself. */
  const char* caveat CTPROF_OPTIONAL;
  /* Its path in the file: "threads[].name". NULL: the table of the entity and the name, the only
   * path that a third party may use; "none": not in the file. */
  const char* file_path CTPROF_OPTIONAL;
  /* Other spellings of the last key, separated by commas, for reading older files. */
  const char* file_aliases CTPROF_OPTIONAL;
  /* The format in the file, if it differs from the storage: "cpus", "0-or-1". */
  const char* file_unit CTPROF_OPTIONAL;
  /* JSON that means "no value" in the file: "0", "null"; NULL or "omit": the key is left out. */
  const char* file_absent CTPROF_OPTIONAL;
  /* The name of the mark that is true where this metric has a value. */
  const char* mark CTPROF_OPTIONAL;
  /* For maps, the kind of each key: "gauge bytes: anon file; counter ns: X_*". */
  const char* map_keys CTPROF_OPTIONAL;
  /* Added with windows (record.h). NULL: no column of the first screen. */
  const struct ctprof_headline* headline CTPROF_TAIL;
  /* Its role in the accounting of a window (newtypes.hpp); only for plugins that ship with ctprof.
   */
  const char* role CTPROF_TAIL;
  /* For maps, the names of one or two labels of each key, separated by a comma:
   * "device,direction". NULL: keys are only names. Tables and Prometheus have the values of the
   * labels under these names. A name consists of lower case letters, digits and _, begins with a
   * letter, has at most 32 bytes, and is none of: key, le, quantile, job, instance. labels.h
   * describes keys with two labels. */
  const char* labels CTPROF_TAIL;
};

/* The command that ctprof prints below a finding. */
typedef uint32_t ctprof_next_step;
enum {
  CTPROF_NEXT_FIGURES = 0, /* the metrics of the section of the derived metric */
  CTPROF_NEXT_THREADS = 1, /* the threads of the group; not for the host */
  CTPROF_NEXT_STACKS = 2,  /* a recording of the stacks of waiting threads */
  CTPROF_NEXT_NOTHING = 3
};

/* A finding: a sentence above the first screen about a group whose value of a derived metric is
 * large. It is stored in files, so a reader without the plugin shows it, too. A finding states
 * facts; it does not judge. */
struct ctprof_finding {
  /* sizeof(struct ctprof_finding) */
  uint32_t size;
  ctprof_next_step next CTPROF_OPTIONAL;
  /* The threshold, above zero: per second for counters, otherwise in the metric's unit. In a
   * comparison of two windows the value must also be 1.5 times that of the first window. An idle
   * host must not reach it. */
  double at_least;
  /* The share of the machine that a value of 1 means, above zero. Findings are ordered by the
   * product of value and weight, which counts as 1 if it is larger. */
  double weight;
  /* The sentence after the name of the group, at most 200 bytes: "retransmitted
   * {tcp_retransmitted_segments} of {tcp_sent_segments} TCP segments ({})". {NAME} is the value of
   * a metric of the same kind of row, or its total in the window for a counter. {} is the value of
   * the derived metric itself, or its rate per second for a counter. At most 8 values. */
  const char* statement;
};

/* A metric that is computed for each group from the group's values of other metrics, not from
 * single rows. For a ratio of two sums, say, a mean of ratios would weigh idle threads like busy
 * ones. */
struct ctprof_derived {
  uint32_t size;
  /* The kind of row. Its inputs must be of the same kind, except that threads and processes can be
   * mixed. Cgroups and the host have groups of their own: a formula that mixes them with other
   * kinds is refused. */
  ctprof_entity entity CTPROF_OPTIONAL;
  const char* name;
  /* "a / (a + b?)": + - * / max(). A trailing ? marks an input that may be missing and is then
   * zero; if every other input is missing as well, the result is missing. Division by zero has no
   * result.
   *
   * Each input is a numeric metric that a loaded plugin declares and that is not derived. A counter
   * must not be multiplied by a counter or a level, combined with a level, or be the divisor of
   * anything but a counter: the result would depend on how long the counter has been counting. */
  const char* expression;
  /* "ratio", "ns" ... It must match the unit that the expression yields from the units of its
   * inputs. */
  const char* unit CTPROF_OPTIONAL;
  /* NULL: gauge. A formula of counters that only grows is always "cumulative", unless it subtracts.
   * With a subtraction, "cumulative" means the difference over a window, and "gauge" a level that
   * is computed from the totals at both ends of a window. Any other formula is a gauge. A
   * "cumulative" result below zero has no value, because the subtracted times overlap. */
  const char* family CTPROF_OPTIONAL;
  /* As in ctprof_metric; NULL: the section "derived". */
  const char* section CTPROF_OPTIONAL;
  const char* sched_class CTPROF_OPTIONAL;
  const char* config_gates CTPROF_OPTIONAL;
  const char* applies_to CTPROF_OPTIONAL;
  const char* description CTPROF_OPTIONAL;
  const char* caveat CTPROF_OPTIONAL;
  /* Added with windows (record.h); as in ctprof_metric. */
  const struct ctprof_headline* headline CTPROF_TAIL;
  const char* role CTPROF_TAIL;
  /* NULL: none. Not for rows of entities that plugins add. */
  const struct ctprof_finding* finding CTPROF_TAIL;
};

/* A kind of row that a plugin adds, such as a disk or a network interface. A source of the stage
 * CTPROF_STAGE_ENTITY_LIST lists its rows in each capture; sources of the stage CTPROF_STAGE_ENTITY
 * fill further columns. Rows of two captures match if their identity columns are equal. */
struct ctprof_entity_type {
  /* sizeof(struct ctprof_entity_type) */
  uint32_t size;
  uint32_t reserved CTPROF_OPTIONAL;
  /* Lower case letters, digits and _, beginning with a letter, at most 32 bytes: "disk". It never
   * changes. `ctprof show FILE --entity disk` shows its rows. A third party's name begins with the
   * name of its plugin, and is that name or continues with "_". */
  const char* name;
  /* A row in one sentence: "A block device." */
  const char* description CTPROF_OPTIONAL;
  /* Of struct ctprof_derived: computed from metrics of this entity; their `entity` is
   * CTPROF_ENTITY_OF_SOURCE. */
  struct ctprof_array derived CTPROF_OPTIONAL;
};

#ifdef __cplusplus
}
#endif

#endif
