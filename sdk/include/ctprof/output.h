/* ctprof/output.h: the binary interface between ctprof and its output plugins, version 1.
 *
 * An output plugin passes the figures of a window to another program: it writes them in another
 * format, or sends them to a server. It receives one window after the other, as tables: a row for
 * each group of threads, such as all processes with the same name, and a column for each metric,
 * with the metric's definition. It never sees threads, files or the host itself.
 *
 * An output plugin is a shared object that exports one symbol, the constant
 *
 *     CTPROF_EXPORT const struct ctprof_output ctprof_output = {
 *         CTPROF_OUTPUT_ABI, sizeof ctprof_output, "name", ... };
 *
 * in a file with the same name, `name.so`. ctprof reads the first field before it calls any
 * function. The rules of ctprof/abi.h about sizes, growth, strings and exceptions apply here, too.
 *
 * ctprof calls an output plugin in a process of its own, in one thread:
 *   - the process has no capabilities and cannot acquire any. If ctprof runs as root, the process
 *     runs as nobody (user 65534), so the file of the plugin must be readable by all users;
 *   - `open` and the constructors return within 5 s, while ctprof waits;
 *   - `put` may take as long as it needs. ctprof does not wait for it: at most four windows are
 *     queued, and further windows are dropped. The plugin learns how many;
 *   - if the plugin crashes, exits or throws, its process ends, ctprof reports it once, and the
 *     recording continues.
 *
 * Endpoints and other settings are options of the plugin, which the user sets with `--set
 * NAME.KEY=VALUE`. They never come from a recording, and a plugin must not take one from the names
 * in a window.
 *
 * The complete plugin that `ctprof plugin new NAME --source output` writes is an example.
 */
#ifndef CTPROF_OUTPUT_H
#define CTPROF_OUTPUT_H

#include "ctprof/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CTPROF_OUTPUT_ABI 1u

/* A pointer to an item of an array: CTPROF_ITEM(struct ctprof_output_row, table->rows, 7). */
#define CTPROF_ITEM(type, array, index) \
  ((type const*)((const char*)(array).items + (size_t)(index) * (array).item_size))

typedef uint32_t ctprof_output_metric_flags;
enum {
  /* A value is the increase of a counter during the window. The sum over consecutive windows only
   * grows. Without this flag and the next one, a value is a level at the end of the window. */
  CTPROF_OUTPUT_INCREASE = 1,
  /* A value is the increase of a counter per second of the window, in the metric's unit. */
  CTPROF_OUTPUT_PER_SECOND = 2
};

/* A label of the key of a map, such as device="sda". */
struct ctprof_output_label {
  const char* name;
  /* any bytes, by convention UTF-8 */
  struct ctprof_text value;
};

/* A metric: a column of a table. */
struct ctprof_output_metric {
  /* sizeof(struct ctprof_output_metric) */
  uint32_t size;
  ctprof_output_metric_flags flags;
  /* such as run_time_ns; permanent */
  const char* name;
  /* the column contains this key of a map; "": the metric is not a map. With two labels, the key
   * contains both values (abi/labels.h) */
  const char* key;
  /* ns, us, ticks, bytes, kib, count, percent, centipercent, ratio; or others */
  const char* unit;
  /* cumulative, peak, gauge, limit; or others */
  const char* family;
  /* the kind of object that is measured, such as thread or cgroup */
  const char* entity;
  /* Of struct ctprof_output_label: the labels of the key, one or two, if the metric declares any;
   * otherwise empty. Their names differ from `label_names` of the table. A ctprof that is older
   * than this field does not have it: call ctprof_get_key_labels(). */
  struct ctprof_array key_labels CTPROF_TAIL;
};

/* Returns `key_labels`, or an empty array if ctprof is older than that field. */
static inline struct ctprof_array ctprof_get_key_labels(const struct ctprof_output_metric* metric) {
  const struct ctprof_array none = {NULL, 0, sizeof(struct ctprof_output_label)};
  return metric->size < sizeof *metric ? none : metric->key_labels;
}

/* The value of one metric for one group. */
struct ctprof_output_cell {
  /* CTPROF_NUMBER_NONE: a gap, because nothing could be read. Never write zero instead. UINT64_MAX
   * of the family `limit` means unlimited. */
  struct ctprof_number number;
  /* The value was computed from `values` of the `rows` rows of the group to which the metric
   * applies, such as threads. Both are 0 if the metric does not apply to the group. */
  uint64_t values;
  uint64_t rows;
};

/* A group. */
struct ctprof_output_row {
  /* sizeof(struct ctprof_output_row) */
  uint32_t size;
  uint32_t reserved;
  /* of struct ctprof_text, one for each name in `label_names`: the identity of the group. Any
   * bytes, by convention UTF-8 */
  struct ctprof_array labels;
  /* of struct ctprof_output_cell, one for each metric */
  struct ctprof_array cells;
};

/* Groups of one kind. The table of the host has one row without labels. */
struct ctprof_output_table {
  /* sizeof(struct ctprof_output_table) */
  uint32_t size;
  uint32_t reserved;
  /* of const char *, such as "pcomm" */
  struct ctprof_array label_names;
  /* of struct ctprof_output_metric */
  struct ctprof_array metrics;
  /* of struct ctprof_output_row */
  struct ctprof_array rows;
};

typedef uint32_t ctprof_output_window_flags;
enum {
  /* Not a window, but the state at one time: `start_ns` and `length_ns` are 0, no metric has the
   * flag CTPROF_OUTPUT_INCREASE, and counters are totals since each thread started. */
  CTPROF_OUTPUT_SNAPSHOT = 1
};

struct ctprof_output_window {
  /* sizeof(struct ctprof_output_window) */
  uint32_t size;
  ctprof_output_window_flags flags;
  /* of CLOCK_REALTIME; of groups, end_ns minus length_ns */
  uint64_t start_ns;
  /* of CLOCK_REALTIME */
  uint64_t end_ns;
  /* measured by a monotonic clock */
  uint64_t length_ns;
  /* windows dropped since the previous one that the plugin received */
  uint64_t dropped_before;
  /* groups omitted because there were too many (--max-series) */
  uint64_t omitted_rows;
  /* ticks per second, of the unit `ticks` */
  uint32_t user_hz;
  uint32_t reserved;
  /* name of the host, or its pseudonym; "": omitted */
  const char* host;
  /* version of ctprof */
  const char* producer;
  /* of struct ctprof_output_table */
  struct ctprof_array tables;
};

/* What ctprof provides to the plugin. Valid until `close` returns. */
struct ctprof_output_core {
  /* sizeof(struct ctprof_output_core) */
  uint32_t size;
  uint32_t reserved;
  /* of struct ctprof_setting: every option with its value or default, in the order of the
   * plugin's table */
  struct ctprof_array settings;
  void* core;
  /* Appends bytes to the file that the user named with `export -o`, or to standard output with
   * `record --emit`. Returns 0, or -1 if there is no such file, or it cannot be written. */
  int32_t (*write)(void* core, const char* bytes, size_t size);
};

struct ctprof_output {
  /* CTPROF_OUTPUT_ABI; read before anything else */
  uint32_t abi;
  /* sizeof(struct ctprof_output) */
  uint32_t size;
  const char* name;
  const char* version;
  /* one sentence, which `ctprof plugins` prints */
  const char* description CTPROF_OPTIONAL;
  /* of struct ctprof_option */
  struct ctprof_array options CTPROF_OPTIONAL;
  /* Checks the settings and creates the state. Returns 0, or an error with a message. NULL: the
   * plugin has no state. */
  int32_t (*open)(const struct ctprof_output_core* core, void** state, char* message,
                  size_t message_size) CTPROF_OPTIONAL;
  /* Receives a window, which is valid during the call. Returns 0, or an error with a message: the
   * window was not delivered. The next window is passed in either case. */
  int32_t (*put)(void* state, const struct ctprof_output_window* window, char* message,
                 size_t message_size);
  /* Completes the output and frees the state. Returns 0, or an error with a message. May be NULL.
   */
  int32_t (*close)(void* state, char* message, size_t message_size) CTPROF_OPTIONAL;
  /* The first bytes of every file that the plugin writes with `export -o`. An existing file that
   * contains them near its start is replaced; any other requires --force. NULL: every existing file
   * requires --force. */
  const char* signature CTPROF_OPTIONAL;
  /* Of const char *: names of metrics of threads. If there are any, the plugin receives one table
   * of all threads instead of groups, with the label names "tgid" and "tid". It has those of these
   * metrics that the capture contains and that are numbers. Only `export` provides such windows. */
  struct ctprof_array thread_metrics CTPROF_OPTIONAL;
};

#ifdef __cplusplus
}
#endif

#endif
