/* ctprof/abi/source.h: sources: what fills cells, and what it is handed. Part of ctprof/abi.h,
 * which says how all of it may change; include that. */
#ifndef CTPROF_ABI_SOURCE_H
#define CTPROF_ABI_SOURCE_H

#include "ctprof/abi/host.h"
#include "ctprof/abi/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/* When a source is asked. A process row is a distinct tgid, a cgroup row a distinct path or an
 * ancestor of one. */
typedef uint32_t ctprof_stage;
enum {
  CTPROF_STAGE_LIST = 0, /* lists the threads, and may fill columns of its own on the way */
  CTPROF_STAGE_THREAD = 1,
  CTPROF_STAGE_PROCESS = 2,
  CTPROF_STAGE_CGROUP = 3,
  CTPROF_STAGE_HOST = 4,
  CTPROF_STAGE_EXITED = 5, /* lists threads that ended while a window was open */
  CTPROF_STAGE_RECORD = 6  /* hands over weighted call stacks while a window is open */
};

/* A column that the source reads. `values` points to uint64_t, int64_t, double, uint8_t, or struct
 * ctprof_text for strings; both are NULL when nobody fills the column. */
struct ctprof_input {
  const void* values;
  const ctprof_gap* gaps;
};

/* A column that the source fills; both NULL when nobody wants it. Scalars are written straight into
 * `values` and the cell's gap set to CTPROF_VALUE; strings, bitsets, maps and arrays go through the
 * put_* of the batch, and `values` is NULL for them. */
struct ctprof_cells {
  void* values;
  ctprof_gap* gaps;
};

/* Some rows to be filled. Cells come as CTPROF_UNTOUCHED, and none may be left so. */
struct ctprof_batch {
  uint32_t size;
  uint32_t rows;                     /* at most CTPROF_MAX_ROWS */
  const struct ctprof_input* inputs; /* one for each of `reads`, in its order */
  const struct ctprof_cells* cells;  /* one for each of `offers`, in its order */
  void* core;
  /* These copy at once. A row or an offer that is out of range fails the batch. */
  void (*put_text)(void* core, uint32_t offer, uint32_t row, const char* data, size_t size);
  void (*put_bits)(void* core, uint32_t offer, uint32_t row, const uint64_t* words,
                   size_t words_count);
  void (*put_map)(void* core, uint32_t offer, uint32_t row, const struct ctprof_entry* entries,
                  size_t count);
  void (*put_array)(void* core, uint32_t offer, uint32_t row, const uint64_t* values, size_t count);
  /* Adds to one of the source's tallies. */
  void (*tally)(void* core, uint32_t tally, uint64_t count);
  /* Filled by the source. */
  uint32_t rows_done; /* must equal `rows` at the end */
  uint32_t reserved;
  uint64_t longest_stop_ns; /* the longest that a target was held up, 0 when none was */
  char* message; /* room for one sentence: why it failed; or, if it did not, what the user is to be
                    told once */
  size_t message_size;
};

/* What a source of the list stage writes to. It asks for room, fills cells as in `collect`, and
 * says how many rows it used, in any order of rows, as often as it needs. tgid, tid, comm and
 * start_time_clock_ticks must be among its offers. */
struct ctprof_listing {
  uint32_t size;
  uint32_t pids_count;
  const uint64_t* pids; /* only these processes; none: all */
  void* core;
  struct ctprof_batch* (*room)(
      void* core); /* CTPROF_MAX_ROWS rows; NULL: stop, the core has had enough */
  void (*commit)(void* core, uint32_t rows);
  char* message;
  size_t message_size;
  void* context CTPROF_TAIL; /* the plugin's */
  /* Filled by the source. */
  uint64_t lost CTPROF_TAIL;   /* of the stage EXITED: threads that were seen to end, and whose
                                  figures a full buffer lost */
  uint64_t unseen CTPROF_TAIL; /* threads that are known to be there, or to have ended, and of which
                                  nothing is known */
};

/* What a source has to say once a capture is over. */
struct ctprof_summary {
  uint32_t size;
  uint32_t tallies_count;
  const uint64_t* tallies; /* summed over all workers */
  uint64_t rows_listed;    /* threads that the directory walk or the list source found */
  uint64_t rows_absent;    /* of these, gone before anything could be read */
  void* core;
  /* Fields of the source's object in the file, in this order; a dot in `key` opens an inner object,
   * which stays empty when nothing follows the dot. */
  void (*put_u64)(void* core, const char* key, uint64_t value);
  void (*put_bool)(void* core, const char* key, uint32_t value);
  void (*put_text)(void* core, const char* key, const char* data,
                   size_t size); /* NULL data: null */
  /* A sentence for the user, printed once. */
  void (*note)(void* core, const char* data, size_t size);
  void* context CTPROF_TAIL; /* the plugin's */
};

struct ctprof_source {
  uint32_t size;
  ctprof_stage stage;
  const char* name;
  struct ctprof_array offers; /* of struct ctprof_offer */
  struct ctprof_array
      reads; /* of const char *: columns by name; a trailing ? marks one it can do without */
  uint32_t tallies_count;
  uint32_t reserved;
  /* Top-level key of its summary in the file, or NULL. Sources of one plugin that name the same key
   * share tallies, and the first of them speaks for all. */
  const char* summary_key;

  /* Looks at the host and refuses what cannot be filled here, with the reason. NULL: nothing is
   * refused. */
  void (*probe)(const struct ctprof_host* host, const struct ctprof_probe* probe);
  /* A context for one worker. Returns 0 and sets *worker (which may stay NULL), or fails with a
   * sentence in `message`. */
  int32_t (*open_worker)(const struct ctprof_host* host, void** worker, char* message,
                         size_t message_size);
  /* Fills a batch: 0, or anything else and a sentence in the batch's message; cells untouched by
   * then become SourceFailed. */
  int32_t (*collect)(void* worker, struct ctprof_batch* batch);
  /* For the list stage alone, instead of collect. */
  int32_t (*list)(void* worker, struct ctprof_listing* listing);
  void (*close_worker)(void* worker);
  /* May be NULL. */
  void (*summarise)(const struct ctprof_summary* summary);

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
};

#ifdef __cplusplus
}
#endif

#endif
