/* ctprof/abi/source.h: sources, which fill cells, and their arguments. Part of ctprof/abi.h, which
 * states the compatibility rules; include ctprof/abi.h instead.
 *
 * The calls to a source in one capture:
 *
 *     probe                                            once, on one thread
 *     open_worker -> collect, collect ... -> close_worker    for each worker, side by side
 *     summarise                                        once, after all workers are closed
 *
 * A source whose offers were not selected is only probed. If a source fails, only its own cells
 * become gaps; the capture continues.
 */
#ifndef CTPROF_ABI_SOURCE_H
#define CTPROF_ABI_SOURCE_H

#include "ctprof/abi/host.h"
#include "ctprof/abi/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/* When a source is called, and the kind of its rows. A process row is a distinct tgid. A cgroup row
 * is a path that contains a thread, an ancestor of such a path, or any other cgroup. If ctprof does
 * not know a newer stage, it ignores that source, not the plugin. */
typedef uint32_t ctprof_stage;
enum {
  /* lists the threads, and may also fill columns */
  CTPROF_STAGE_LIST = 0,
  CTPROF_STAGE_THREAD = 1,
  CTPROF_STAGE_PROCESS = 2,
  CTPROF_STAGE_CGROUP = 3,
  CTPROF_STAGE_HOST = 4,
  /* lists threads that exited while a window was open */
  CTPROF_STAGE_EXITED = 5,
  /* records weighted call stacks while a window is open */
  CTPROF_STAGE_RECORD = 6,
  /* lists the rows of an entity of a plugin (ctprof_source.entity), and may also fill columns */
  CTPROF_STAGE_ENTITY_LIST = 7,
  /* fills columns of such rows */
  CTPROF_STAGE_ENTITY = 8
};

/* A column that the source reads. `values` points to uint64_t, int64_t, double, uint8_t, or, for
 * strings, struct ctprof_text. Both are NULL if no source fills the column. Check the gap of a row
 * before you use its value. */
struct ctprof_input {
  const void* values;
  const ctprof_gap* gaps;
};

/* A column that the source fills. Both are NULL if the column was not requested; the source can
 * then skip expensive reads. For scalars, write `values` directly and set the cell's gap to
 * CTPROF_VALUE. For strings, bitsets, maps and arrays, `values` is NULL: call the batch's put_*
 * functions, which also set the gap. For a cell without a value, write only its gap. */
struct ctprof_cells {
  void* values;
  ctprof_gap* gaps;
};

/* Rows to fill, numbered from 0. Cells are passed as CTPROF_UNTOUCHED, and none may stay so. */
struct ctprof_batch {
  uint32_t size;
  /* At most CTPROF_MAX_ROWS. */
  uint32_t rows;
  /* One for each of `reads`, in its order. */
  const struct ctprof_input* inputs;
  /* One for each of `offers`, in its order. */
  const struct ctprof_cells* cells;
  /* Passed to the functions below. */
  void* core;
  /* These copy before they return. A row or offer that is out of range fails the batch, and so does
   * an offer with another storage. A map with a malformed key becomes the gap CTPROF_MALFORMED, and
   * keys beyond CTPROF_MAX_MAP_KEYS are dropped; ctprof reports both. */
  void (*put_text)(void* core, uint32_t offer, uint32_t row, const char* data, size_t size);
  void (*put_bits)(void* core, uint32_t offer, uint32_t row, const uint64_t* words,
                   size_t words_count);
  void (*put_map)(void* core, uint32_t offer, uint32_t row, const struct ctprof_entry* entries,
                  size_t count);
  void (*put_array)(void* core, uint32_t offer, uint32_t row, const uint64_t* values, size_t count);
  /* Adds to one of the source's tallies, identified by its index. */
  void (*tally)(void* core, uint32_t tally, uint64_t count);
  /* Filled by the source from here on. It must equal `rows` at the end, so that a source that
   * stopped early is detected. */
  uint32_t rows_done;
  uint32_t reserved;
  /* The longest time for which a target was stopped; 0 if none was. */
  uint64_t longest_stop_ns;
  /* A buffer for one sentence that ends with a NUL: why the call failed, or, if it succeeded, a
   * remark that is reported to the user once. */
  char* message;
  size_t message_size;
};

/* Receives the rows of a source of the stage LIST or ENTITY_LIST. The source requests a buffer with
 * `room`, fills its cells as in `collect`, and passes the number of filled rows to `commit`. It
 * repeats this as often as needed, with rows in any order.
 *
 * The offers of a source of the stage LIST must include tgid, tid, comm and start_time_clock_ticks.
 * Those of the stage ENTITY_LIST must include one to three columns of the family "identity", each a
 * text or an unsigned number. Each row has a value in all of these, and no two rows have the same
 * values. A source that lists more than CTPROF_MAX_ENTITY_ROWS rows fails. */
struct ctprof_listing {
  uint32_t size;
  uint32_t pids_count;
  /* Only these processes; none: all. */
  const uint64_t* pids;
  void* core;
  /* Returns CTPROF_MAX_ROWS rows, valid until the next call; NULL: stop, the core accepts no more
   * rows. */
  struct ctprof_batch* (*room)(void* core);
  /* Commits the first `rows` rows of that buffer. The other rows are discarded. */
  void (*commit)(void* core, uint32_t rows);
  /* As in ctprof_batch. */
  char* message;
  size_t message_size;
  /* The plugin's. */
  void* context CTPROF_TAIL;
  /* Filled by the source. For the stage EXITED: threads that exited and whose final values were
   * lost because a buffer was full. */
  uint64_t lost CTPROF_TAIL;
  /* Threads that are known to exist or to have exited, but without any values. */
  uint64_t unseen CTPROF_TAIL;
};

/* Receives the results that a source reports after a capture. */
struct ctprof_summary {
  uint32_t size;
  uint32_t tallies_count;
  /* Summed over all workers. */
  const uint64_t* tallies;
  /* Threads that the directory walk or the list source found. */
  uint64_t rows_listed;
  /* Of these, threads that exited before any value was read. */
  uint64_t rows_absent;
  void* core;
  /* Add fields to the source's object in the file, in the order of the calls. A dot in `key` opens
   * an inner object, which stays empty if nothing follows the dot. NULL data becomes null. */
  void (*put_u64)(void* core, const char* key, uint64_t value);
  void (*put_bool)(void* core, const char* key, uint32_t value);
  void (*put_text)(void* core, const char* key, const char* data, size_t size);
  /* A message for the user, printed once. Begin it with the plugin's name; state its effect on the
   * values, and what the user can do. */
  void (*note)(void* core, const char* data, size_t size);
  /* The plugin's. */
  void* context CTPROF_TAIL;
};

/* A source. Required: size, stage, name, open_worker, close_worker, and collect, or list for the
 * list stage. All other fields may be NULL or 0. */
struct ctprof_source {
  uint32_t size;
  ctprof_stage stage;
  /* For messages and provenance: "threads". Unique within the plugin. */
  const char* name;
  /* Of struct ctprof_offer. Batches and probes refer to offers by their index in this array. */
  struct ctprof_array offers CTPROF_OPTIONAL;
  /* Of const char *: names of columns; a trailing ? marks an optional one. The columns that the
   * stage provides must be named too: "tgid", "tid", "task_dir?" ("process.tgid", "cgroup.path").
   */
  struct ctprof_array reads CTPROF_OPTIONAL;
  uint32_t tallies_count CTPROF_OPTIONAL;
  uint32_t reserved CTPROF_OPTIONAL;
  /* Top-level key of its summary in the file, or NULL. Sources of the same plugin with the same key
   * share their tallies, and only the first of them writes the summary. */
  const char* summary_key CTPROF_OPTIONAL;

  /* Checks the host and refuses the offers that cannot be filled here, with reasons. It must return
   * within 5 s. NULL: nothing is refused. */
  void (*probe)(const struct ctprof_host* host, const struct ctprof_probe* probe) CTPROF_OPTIONAL;
  /* Creates a context for one worker. Returns 0 and sets *worker (which may stay NULL), or fails
   * with a sentence in `message`; then close_worker is not called. */
  int32_t (*open_worker)(const struct ctprof_host* host, void** worker, char* message,
                         size_t message_size);
  /* Fills a batch. Returns 0, or any other value and a sentence in the batch's message. Cells that
   * are still untouched then become SourceFailed. */
  int32_t (*collect)(void* worker, struct ctprof_batch* batch) CTPROF_OPTIONAL;
  /* Only for the stages LIST and ENTITY_LIST, instead of collect. If it fails, its rows are
   * discarded, and another lister or a walk of /proc replaces it; an entity then has no rows. */
  int32_t (*list)(void* worker, struct ctprof_listing* listing) CTPROF_OPTIONAL;
  /* Destroys the context that open_worker created. */
  void (*close_worker)(void* worker);
  /* May be NULL. */
  void (*summarise)(const struct ctprof_summary* summary) CTPROF_OPTIONAL;

  /* Only for the stages EXITED and RECORD, which have no `collect` and no `list`; see
   * ctprof/abi/record.h. Each returns CTPROF_DONE, CTPROF_FAILED with a sentence, or
   * CTPROF_ALREADY. */
  int32_t (*start)(void* worker, const struct ctprof_window* window, char* message,
                   size_t message_size) CTPROF_TAIL;
  /* Passes the data that was recorded since the last call. The core calls it any number of times,
   * also after `stop`. Stage EXITED uses the first, stage RECORD the second. */
  int32_t (*drain_exited)(void* worker, struct ctprof_listing* listing) CTPROF_TAIL;
  int32_t (*drain_records)(void* worker, struct ctprof_records* records) CTPROF_TAIL;
  int32_t (*stop)(void* worker, char* message, size_t message_size) CTPROF_TAIL;
  /* Only for the stage RECORD; may be NULL. A window ends now: the next drain must deliver states
   * still in progress and the counts that are kept in the kernel. Later data belongs to the next
   * window. */
  int32_t (*window_ends)(void* worker, char* message, size_t message_size) CTPROF_TAIL;
  /* Only for the stage RECORD; may be NULL. A window begins now: the source discards what it
   * counted before, because it belongs to no window. A source that counts in sums has this function
   * together with `window_ends`. The core then calls `window_opens` after the first read of the
   * threads and `window_ends` before the last read, so that each sum lies inside the window of its
   * thread. */
  int32_t (*window_opens)(void* worker, char* message, size_t message_size) CTPROF_TAIL;
  /* Only for the stages ENTITY_LIST, which has `list`, and ENTITY, which has `collect`: the kind of
   * the rows. One source lists the rows of an entity; any number of sources of any plugins fill
   * their columns. */
  const struct ctprof_entity_type* entity CTPROF_TAIL;
};

#ifdef __cplusplus
}
#endif

#endif
