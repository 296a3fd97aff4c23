/* ctprof/abi/source.h: sources: what fills cells, and what it is handed. Part of ctprof/abi.h,
 * which says how all of it may change; include that.
 *
 * The life of a source in one capture:
 *
 *     probe                                            once, on one thread
 *     open_worker -> collect, collect ... -> close_worker    for each worker, side by side
 *     summarise                                        once, after all workers are closed
 *
 * A source that none of whose offers is wanted is probed, and then left alone. A source that fails
 * costs its own cells; the capture goes on.
 */
#ifndef CTPROF_ABI_SOURCE_H
#define CTPROF_ABI_SOURCE_H

#include "ctprof/abi/host.h"
#include "ctprof/abi/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/* When a source is asked, and for rows of what. A process row is a distinct tgid, a cgroup row a
 * path that a thread is in, an ancestor of one, or any other cgroup. A newer stage than a ctprof
 * knows costs that source, not the plugin. */
typedef uint32_t ctprof_stage;
enum {
  /* lists the threads, and may fill columns of its own on the way */
  CTPROF_STAGE_LIST = 0,
  CTPROF_STAGE_THREAD = 1,
  CTPROF_STAGE_PROCESS = 2,
  CTPROF_STAGE_CGROUP = 3,
  CTPROF_STAGE_HOST = 4,
  /* lists threads that ended while a window was open */
  CTPROF_STAGE_EXITED = 5,
  /* hands over weighted call stacks while a window is open */
  CTPROF_STAGE_RECORD = 6
};

/* A column that the source reads. `values` points to uint64_t, int64_t, double, uint8_t, or struct
 * ctprof_text for strings; both are NULL when no source fills the column. Look at a row's gap
 * before its value. */
struct ctprof_input {
  const void* values;
  const ctprof_gap* gaps;
};

/* A column that the source fills; both NULL when it is not wanted, and then what is costly need not
 * be read. Scalars are written straight into `values` and the cell's gap set to CTPROF_VALUE;
 * strings, bitsets, maps and arrays go through the put_* of the batch, which set the gap as well,
 * and `values` is NULL for them. For a cell without value, write its gap alone. */
struct ctprof_cells {
  void* values;
  ctprof_gap* gaps;
};

/* Some rows to be filled, numbered from 0. Cells come as CTPROF_UNTOUCHED, and none may be left so.
 */
struct ctprof_batch {
  uint32_t size;
  /* At most CTPROF_MAX_ROWS. */
  uint32_t rows;
  /* One for each of `reads`, in its order. */
  const struct ctprof_input* inputs;
  /* One for each of `offers`, in its order. */
  const struct ctprof_cells* cells;
  /* Handed back to the functions below. */
  void* core;
  /* These copy at once. A row or an offer that is out of range fails the batch, and so does one
   * whose storage is another. */
  void (*put_text)(void* core, uint32_t offer, uint32_t row, const char* data, size_t size);
  void (*put_bits)(void* core, uint32_t offer, uint32_t row, const uint64_t* words,
                   size_t words_count);
  void (*put_map)(void* core, uint32_t offer, uint32_t row, const struct ctprof_entry* entries,
                  size_t count);
  void (*put_array)(void* core, uint32_t offer, uint32_t row, const uint64_t* values, size_t count);
  /* Adds to one of the source's tallies, by its number. */
  void (*tally)(void* core, uint32_t tally, uint64_t count);
  /* Filled by the source from here on. Must equal `rows` at the end, so that a source which stopped
   * halfway shows. */
  uint32_t rows_done;
  uint32_t reserved;
  /* The longest that a target was held up, 0 when none was. */
  uint64_t longest_stop_ns;
  /* Room for one sentence that ends with a NUL: why it failed; or, if it did not, what the user is
   * to be told once. */
  char* message;
  size_t message_size;
};

/* What a source of the list stage writes to. It asks for room, fills cells as in `collect`, and
 * says how many rows it used, in any order of rows, as often as it needs. tgid, tid, comm and
 * start_time_clock_ticks must be among its offers. */
struct ctprof_listing {
  uint32_t size;
  uint32_t pids_count;
  /* Only these processes; none: all. */
  const uint64_t* pids;
  void* core;
  /* CTPROF_MAX_ROWS rows, good until the next call; NULL: stop, the core has had enough. */
  struct ctprof_batch* (*room)(void* core);
  /* So many rows of that room are filled, from the first on. The rest is dropped. */
  void (*commit)(void* core, uint32_t rows);
  /* As in ctprof_batch. */
  char* message;
  size_t message_size;
  /* The plugin's. */
  void* context CTPROF_TAIL;
  /* Filled by the source. Of the stage EXITED: threads that were seen to end, and whose figures a
   * full buffer lost. */
  uint64_t lost CTPROF_TAIL;
  /* Threads that are known to be there, or to have ended, and of which nothing is known. */
  uint64_t unseen CTPROF_TAIL;
};

/* What a source has to say once a capture is over. */
struct ctprof_summary {
  uint32_t size;
  uint32_t tallies_count;
  /* Summed over all workers. */
  const uint64_t* tallies;
  /* Threads that the directory walk or the list source found. */
  uint64_t rows_listed;
  /* Of these, gone before anything could be read. */
  uint64_t rows_absent;
  void* core;
  /* Fields of the source's object in the file, in this order; a dot in `key` opens an inner object,
   * which stays empty when nothing follows the dot. NULL data becomes null. */
  void (*put_u64)(void* core, const char* key, uint64_t value);
  void (*put_bool)(void* core, const char* key, uint32_t value);
  void (*put_text)(void* core, const char* key, const char* data, size_t size);
  /* A sentence for the user, printed once. Begin it with the plugin's name; say what it means for
   * the figures, and what the user can do. */
  void (*note)(void* core, const char* data, size_t size);
  /* The plugin's. */
  void* context CTPROF_TAIL;
};

/* A source. What must be there: size, stage, name, open_worker, close_worker, and collect, or list
 * for the list stage. All else may be NULL or 0. */
struct ctprof_source {
  uint32_t size;
  ctprof_stage stage;
  /* For messages and provenance: "threads". Unique within the plugin. */
  const char* name;
  /* Of struct ctprof_offer. Their order is the numbering that batches and probes use. */
  struct ctprof_array offers CTPROF_OPTIONAL;
  /* Of const char *: columns by name; a trailing ? marks one it can do without. What the stage
   * brings has to be named too: "tgid", "tid", "task_dir?" ("process.tgid", "cgroup.path"). */
  struct ctprof_array reads CTPROF_OPTIONAL;
  uint32_t tallies_count CTPROF_OPTIONAL;
  uint32_t reserved CTPROF_OPTIONAL;
  /* Top-level key of its summary in the file, or NULL. Sources of one plugin that name the same key
   * share tallies, and the first of them speaks for all. */
  const char* summary_key CTPROF_OPTIONAL;

  /* Looks at the host and refuses what cannot be filled here, with the reason. It must return
   * within 5 s. NULL: nothing is refused. */
  void (*probe)(const struct ctprof_host* host, const struct ctprof_probe* probe) CTPROF_OPTIONAL;
  /* A context for one worker. Returns 0 and sets *worker (which may stay NULL), or fails with a
   * sentence in `message`; then close_worker is not called. */
  int32_t (*open_worker)(const struct ctprof_host* host, void** worker, char* message,
                         size_t message_size);
  /* Fills a batch: 0, or anything else and a sentence in the batch's message; cells untouched by
   * then become SourceFailed. */
  int32_t (*collect)(void* worker, struct ctprof_batch* batch) CTPROF_OPTIONAL;
  /* For the list stage alone, instead of collect. If it fails, its rows are discarded, and another
   * lister or a walk of /proc takes its place. */
  int32_t (*list)(void* worker, struct ctprof_listing* listing) CTPROF_OPTIONAL;
  /* Ends what open_worker began. */
  void (*close_worker)(void* worker);
  /* May be NULL. */
  void (*summarise)(const struct ctprof_summary* summary) CTPROF_OPTIONAL;

  /* Of the stages EXITED and RECORD alone, which have no `collect` and no `list`; see
   * ctprof/abi/record.h. Each returns CTPROF_DONE, CTPROF_FAILED with a sentence, or
   * CTPROF_ALREADY. */
  int32_t (*start)(void* worker, const struct ctprof_window* window, char* message,
                   size_t message_size) CTPROF_TAIL;
  /* As often as the core likes, after `stop` too: hands over what came since the last time. The
   * first for EXITED, the second for RECORD. */
  int32_t (*drain_exited)(void* worker, struct ctprof_listing* listing) CTPROF_TAIL;
  int32_t (*drain_records)(void* worker, struct ctprof_records* records) CTPROF_TAIL;
  int32_t (*stop)(void* worker, char* message, size_t message_size) CTPROF_TAIL;
  /* Of the stage RECORD; may be NULL. A window ends now: the next drain is to hand over what is
   * still in progress, and what is counted in the kernel; from here on it is the next window's. */
  int32_t (*window_ends)(void* worker, char* message, size_t message_size) CTPROF_TAIL;
  /* Of the stage RECORD; may be NULL. A window begins now: what the source counted before is none
   * of any window's, and is discarded. A source that counts in sums has it, together with
   * `window_ends`: the core then calls `window_opens` after threads are first read and
   * `window_ends` before they are read last, so that each sum lies inside the window of its thread.
   */
  int32_t (*window_opens)(void* worker, char* message, size_t message_size) CTPROF_TAIL;
};

#ifdef __cplusplus
}
#endif

#endif
