/* ctprof/abi/metric.h: metrics, derived metrics, and how they are shown. Part of ctprof/abi.h,
 * which says how all of it may change; include that.
 *
 * A definition travels: every file that holds the metric has it, so a snapshot can be shown
 * and compared where the plugin is not installed. That is why a definition is data, why it is
 * complete, and why its name is for ever. A change of meaning needs a new name.
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
  /* A column between sources: never listed, shown or written. Give it no name that others could
   * take for a metric. */
  CTPROF_METRIC_HIDDEN = 1,
  /* True where any metric that names it as its `mark` has a value. The core fills it; no
   * source offers it. */
  CTPROF_METRIC_MARK = 2,
  /* What an administrator chooses (an affinity, a limit): a comparison says that it changed. */
  CTPROF_METRIC_SETTING = 4,
  /* Reading it costs as much as everything else: `record` leaves it out unless it is asked for.
   */
  CTPROF_METRIC_COSTLY = 8,
  /* A recorder's: it is about the window, also where others of its family are about a thread's
   * whole life, as peaks are. */
  CTPROF_METRIC_OF_WINDOW = 16
};

/* How the figure of a headline is shown. */
typedef uint32_t ctprof_shown;
enum {
  /* of one CPU, or of the time that passed: a time over a time */
  CTPROF_SHOWN_PERCENT = 0,
  /* per second */
  CTPROF_SHOWN_RATE = 1,
  /* as it is, and how much it changed */
  CTPROF_SHOWN_LEVEL = 2
};

typedef uint32_t ctprof_headline_flags;
enum {
  /* Orders no rows: a part of it is no cost, as sleep that a thread chose. */
  CTPROF_HEADLINE_BY_CHANGE = 1
};

/* A column of the first screen. Ask for one only if a user who knows nothing of your plugin should
 * see the figure at once; there is little room. */
struct ctprof_headline {
  uint32_t size;
  /* The smallest comes first; columns of a third party, at most three, come after ours. */
  uint32_t order CTPROF_OPTIONAL;
  /* Short, with its kind of figure: "%wait", "migr/s". */
  const char* label;
  ctprof_shown shown;
  ctprof_headline_flags flags CTPROF_OPTIONAL;
  /* Below it a group is quiet. Per second where a rate or a percentage is shown; in the metric's
   * unit. Rows are ordered by shares of the machine: of times, of bytes that are held or moved. */
  double floor CTPROF_OPTIONAL;
};

/* One column of one entity. Newtype and rule must fit each other; newtypes.hpp has the table of
 * what does, and a pair that has no meaning is refused with a sentence. */
struct ctprof_metric {
  /* sizeof(struct ctprof_metric) */
  uint32_t size;
  /* What a row is about, and how a cell is stored. */
  ctprof_entity entity CTPROF_OPTIONAL;
  ctprof_storage storage CTPROF_OPTIONAL;
  ctprof_metric_flags flags CTPROF_OPTIONAL;
  /* Lower case letters, digits, _ and dots, beginning with a letter; stable for ever. A third
   * party's begins with its plugin's name and "_". */
  const char* name;
  /* What a reading is: "MonotonicNs", "PeakBytes" ... */
  const char* newtype;
  /* How a group's readings become one: "SumNs", "MaxPeakBytes" ... or a rule of the plugin's own.
   */
  const char* rule;
  /* NULL: the newtype's. */
  const char* unit CTPROF_OPTIONAL;
  /* How it behaves in time: cumulative, peak, gauge, categorical, limit, identity; NULL: the
   * newtype's. Only what is cumulative becomes a rate. */
  const char* family CTPROF_OPTIONAL;
  /* The section of a report that it belongs to (newtypes.hpp); NULL: "primary". */
  const char* section CTPROF_OPTIONAL;
  /* Which threads have it, by scheduling class: cfs-only, non-ext, fair-policy, or NULL. */
  const char* sched_class CTPROF_OPTIONAL;
  /* Kernel options that it needs, with commas between: "CONFIG_SCHED_INFO". */
  const char* config_gates CTPROF_OPTIONAL;
  /* Which rows it is about, in a word for the reader: all, leader, user, fair ...; NULL: all. */
  const char* applies_to CTPROF_OPTIONAL;
  /* The first kernel version that has it, for the reader: "6.12". */
  const char* since CTPROF_OPTIONAL;
  /* Where it comes from, for the reader: "/proc/<tgid>/task/<tid>/sched:wait_max". */
  const char* source CTPROF_OPTIONAL;
  /* What it is, in one sentence. */
  const char* description CTPROF_OPTIONAL;
  /* The kernel function that writes it, for a reader who wants to be sure: "update_curr()". */
  const char* kernel_writer CTPROF_OPTIONAL;
  /* What it is not, and what misleads. Say here what you had to find out yourself. */
  const char* caveat CTPROF_OPTIONAL;
  /* Its place in the file: "threads[].name". NULL: the entity's table and the name, the only place
   * that a third party may have; "none": not in the file. */
  const char* file_path CTPROF_OPTIONAL;
  /* Other spellings of the last key, with commas between, for reading older files. */
  const char* file_aliases CTPROF_OPTIONAL;
  /* How the file writes it, where that differs from the storage: "cpus", "0-or-1". */
  const char* file_unit CTPROF_OPTIONAL;
  /* JSON that means "no value" in the file: "0", "null"; NULL or "omit": the key is left out. */
  const char* file_absent CTPROF_OPTIONAL;
  /* The name of the mark that is true where this one has a value. */
  const char* mark CTPROF_OPTIONAL;
  /* For maps, which keys are what: "gauge bytes: anon file; counter ns: X_*". */
  const char* map_keys CTPROF_OPTIONAL;
  /* Since windows. NULL: it is no column of the first screen. */
  const struct ctprof_headline* headline CTPROF_TAIL;
  /* Its role in the accounting of a window (newtypes.hpp); for ctprof's own plugins alone. */
  const char* role CTPROF_TAIL;
};

/* A metric computed per group from what the group's readings of others came to, not from single
 * rows: a ratio of two sums, say, where a mean of ratios would weigh idle threads like busy ones.
 */
struct ctprof_derived {
  uint32_t size;
  /* What it is about. Its inputs must be of the same kind: threads and processes can be mixed;
   * cgroups and the host have groups of their own, and a formula across them is refused. */
  ctprof_entity entity CTPROF_OPTIONAL;
  const char* name;
  /* "a / (a + b?)": + - * / max(). A trailing ? marks an input that may be missing, and is zero
   * then; without any other input the result is missing. Division by zero has no result.
   *
   * Each input is a metric with a number that a loaded plugin declares, and not derived itself. A
   * counter must not be multiplied by a counter or a level, combined with a level, or be the
   * divisor of anything but a counter: the result would depend on how long the counter counts. */
  const char* expression;
  /* "ratio", "ns" ... It must be what the expression makes of its inputs' units. */
  const char* unit CTPROF_OPTIONAL;
  /* NULL: gauge. A formula that counts up is "cumulative" whatever this says, unless it subtracts;
   * then "cumulative" means what was counted in a window, and "gauge" a level, computed from the
   * totals at both ends of a window. Any other formula is a gauge. A "cumulative" result below zero
   * is no value: what is subtracted overlaps. */
  const char* family CTPROF_OPTIONAL;
  /* These are as in ctprof_metric; NULL: the section "derived". */
  const char* section CTPROF_OPTIONAL;
  const char* sched_class CTPROF_OPTIONAL;
  const char* config_gates CTPROF_OPTIONAL;
  const char* applies_to CTPROF_OPTIONAL;
  const char* description CTPROF_OPTIONAL;
  const char* caveat CTPROF_OPTIONAL;
  /* Since windows; as in ctprof_metric. */
  const struct ctprof_headline* headline CTPROF_TAIL;
  const char* role CTPROF_TAIL;
};

#ifdef __cplusplus
}
#endif

#endif
