/* ctprof/abi.h: the binary boundary between ctprof and its plugins, version 1.
 *
 * Plain C11, so that a plugin can be written in any language that speaks the C calling convention. Whoever writes C++ is
 * better served by ctprof/plugin.hpp, which is a header-only layer on top of this file.
 *
 * A plugin is a shared object that exports one symbol, the constant
 *
 *     const struct ctprof_plugin ctprof_plugin = { CTPROF_ABI, sizeof(struct ctprof_plugin), "name", ... };
 *
 * and nothing else. The core reads its first field before it calls anything.
 *
 * How it may change, for ever:
 *   - every struct carries its size, every array the size of one item; new fields go to the end, and a field beyond the
 *     size that the other side states is zero;
 *   - numbers once given keep their meaning (some of them reach the file);
 *   - any other change raises CTPROF_ABI.
 *
 * Rules of the road:
 *   - nothing that is handed over outlives the call, on either side, but the constant table itself and what it points to;
 *   - no exception, no C++ type, and no memory to be freed by the other side crosses;
 *   - strings in tables are UTF-8, end with a NUL, and an absent one is NULL or "";
 *   - the functions of one worker are never called at once from two threads; two workers may run side by side;
 *   - constructors and `probe` return within 5 s, and nothing calls exit(); a plugin that does not keep to it is named, and ctprof ends;
 *   - standard output is ctprof's: what a plugin prints goes to standard error; what it changes of the working directory, the locale
 *     and the file mode mask is put back.
 */
#ifndef CTPROF_ABI_H
#define CTPROF_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CTPROF_ABI 1u

/* The most rows that one call of `collect` is handed. */
#define CTPROF_MAX_ROWS 1024u

/* What a row is about. */
typedef uint32_t ctprof_entity;
enum { CTPROF_THREAD = 0, CTPROF_PROCESS = 1, CTPROF_CGROUP = 2, CTPROF_HOST = 3 };

/* How a cell is stored. */
typedef uint32_t ctprof_storage;
enum {
  CTPROF_U64 = 0,
  CTPROF_I64 = 1,
  CTPROF_F64 = 2,
  CTPROF_BOOL = 3,   /* one byte, 0 or 1 */
  CTPROF_STRING = 4, /* bytes, by convention UTF-8 */
  CTPROF_BITSET = 5, /* little end first, 64 bits a word */
  CTPROF_MAP = 6,    /* string to u64 */
  CTPROF_ARRAY = 7   /* of u64 */
};

/* Why a cell holds no value. One byte per cell; 0 says that it holds one. These numbers reach the file. */
typedef uint8_t ctprof_gap;
enum {
  CTPROF_VALUE = 0,
  CTPROF_UNTOUCHED = 1,       /* nobody wrote the cell: a fault, never in a finished snapshot */
  CTPROF_NOT_APPLICABLE = 2,  /* the question has no meaning for this row */
  CTPROF_THREAD_GONE = 3,     /* it ended before the cell was read */
  CTPROF_DENIED = 4,          /* not permitted to us */
  CTPROF_UNSUPPORTED = 5,     /* this kernel or configuration does not have it */
  CTPROF_SWITCHED_OFF = 6,    /* a run-time switch is off */
  CTPROF_PREDATES_SWITCH = 7, /* the thread is older than the switch */
  CTPROF_MALFORMED = 8,       /* the answer could not be understood */
  CTPROF_BUSY = 9,            /* traced by someone else, stopped, or not answering */
  CTPROF_SOURCE_FAILED = 10,  /* the source gave up; it says why in a sentence */
  CTPROF_NOT_IN_FILE = 11     /* the file does not hold it; not for plugins */
};

/* When a source is asked. A process row is a distinct tgid, a cgroup row a distinct path or an ancestor of one. */
typedef uint32_t ctprof_stage;
enum {
  CTPROF_STAGE_LIST = 0, /* lists the threads, and may fill columns of its own on the way */
  CTPROF_STAGE_THREAD = 1,
  CTPROF_STAGE_PROCESS = 2,
  CTPROF_STAGE_CGROUP = 3,
  CTPROF_STAGE_HOST = 4
};

struct ctprof_text {
  const char* data; /* not NUL-terminated */
  size_t size;
};

struct ctprof_entry {
  struct ctprof_text key;
  uint64_t value;
};

/* A constant array: where it is, how many items, and how large one is. */
struct ctprof_array {
  const void* items;
  uint32_t count;
  uint32_t item_size;
};
#define CTPROF_ARRAY_OF(array) \
  { (array), (uint32_t)(sizeof(array) / sizeof((array)[0])), (uint32_t)sizeof((array)[0]) }

/* ---- metrics ------------------------------------------------------------------------------------------------------ */

typedef uint32_t ctprof_metric_flags;
enum {
  CTPROF_METRIC_HIDDEN = 1, /* a column between sources: never listed, shown or written */
  CTPROF_METRIC_MARK = 2    /* true where any metric that names it as its `mark` has a value; the core fills it */
};

/* One column of one entity. */
struct ctprof_metric {
  uint32_t size; /* sizeof(struct ctprof_metric) */
  ctprof_entity entity;
  ctprof_storage storage;
  ctprof_metric_flags flags;
  const char* name;          /* lower case, stable for ever; a third party's begins with its plugin's name */
  const char* newtype;       /* what a reading is: "MonotonicNs", "PeakBytes" ... */
  const char* rule;          /* how a group's readings become one: "SumNs", "MaxPeakBytes" ... or a rule of the plugin's own */
  const char* unit;          /* NULL: the newtype's */
  const char* family;        /* cumulative, peak, gauge, categorical, limit, identity; NULL: the newtype's */
  const char* section;       /* where show and compare put it; NULL: "primary" */
  const char* sched_class;   /* cfs-only, non-ext, fair-policy, or NULL */
  const char* config_gates;  /* kernel options it needs, with commas between */
  const char* applies_to;    /* all, leader, user, fair ... for the reader; NULL: all */
  const char* since;         /* kernel version, for the reader */
  const char* source;        /* path or interface, for the reader */
  const char* description;   /* one sentence */
  const char* kernel_writer; /* the kernel function that writes it */
  const char* caveat;        /* what it is not */
  const char* file_path;     /* "threads[].name"; NULL: the entity's table and the name; "none": not in the file */
  const char* file_aliases;  /* other spellings of the last key, with commas between */
  const char* file_unit;     /* how the file writes it, where that differs: "cpus", "0-or-1" */
  const char* file_absent;   /* JSON that stands for no value: "0", "null"; NULL or "omit": the key is left out */
  const char* mark;          /* the mark that is true where this one has a value */
  const char* map_keys;      /* for maps: "gauge bytes: anon file; counter ns: X_*" */
};

/* A metric computed per group from aggregates of others. */
struct ctprof_derived {
  uint32_t size;
  ctprof_entity entity;
  const char* name;
  const char* expression; /* "a / (a + b?)": + - * / max(); a trailing ? marks an input that may be missing */
  const char* unit;       /* "ratio", "ns" ... */
  const char* family;     /* NULL: gauge */
  const char* section;
  const char* sched_class;
  const char* config_gates;
  const char* applies_to;
  const char* description;
  const char* caveat;
};

/* ---- sources ------------------------------------------------------------------------------------------------------ */

typedef uint32_t ctprof_host_flags;
enum {
  CTPROF_HOST_LIVE = 1,    /* the tree is the running kernel's, not a recording: netlink, BPF and the like make sense */
  CTPROF_HOST_OWN_TIDS = 2 /* its thread ids are those that our own system calls understand */
};

/* What a source is told about the host. */
struct ctprof_host {
  uint32_t size;
  ctprof_host_flags flags;
  int32_t proc_fd; /* open directories, not to be closed; -1 where there is none */
  int32_t sys_fd;
  int32_t cgroup_fd;
  uint32_t user_hz;
  const char* proc; /* the same as paths, for messages */
  const char* sys;
  const char* cgroup;   /* where the cgroup v2 hierarchy is mounted, under the root asked for; "" where it is not */
  uint64_t sample_tgid; /* a thread that exists, to try things on; our own on a live host */
  uint64_t sample_tid;
};

/* One source's word that it can fill one metric. */
struct ctprof_offer {
  const struct ctprof_metric* metric;
  int32_t rank; /* among several that can, the highest wins */
  uint32_t reserved;
};

/* What would change what this host lacks, and how `what` is to be read. */
typedef uint32_t ctprof_remedy;
enum {
  CTPROF_REMEDY_NONE = 0,         /* nothing would */
  CTPROF_REMEDY_COMMAND = 1,      /* a command for root's shell, to be pasted as it is: "sysctl -w kernel.sched_schedstats=1" */
  CTPROF_REMEDY_CAPABILITIES = 2, /* capabilities that ctprof lacks, with commas between: "cap_bpf,cap_perfmon" */
  CTPROF_REMEDY_BOOT = 3,         /* words on the kernel's command line: "psi=1", "without nodelayacct" */
  CTPROF_REMEDY_KERNEL = 4        /* another kernel: "CONFIG_SCHEDSTATS=y", "Linux 6.12 or newer" */
};

/* What `probe` answers to: an offer that is not refused stands. */
struct ctprof_probe {
  uint32_t size;
  uint32_t reserved;
  void* core;
  void (*refuse)(void* core, uint32_t offer, ctprof_gap gap, const char* reason, size_t reason_size);
  /* For people who want more than there is. Of an offer that was refused, `lack` empty: what would change that. Of one that stands, as
   * often as needed: a sentence on what stays a gap all the same, and what would change that. A core that is older than this
   * function has a smaller `size`. */
  void (*remedy)(void* core, uint32_t offer, const char* lack, size_t lack_size, ctprof_remedy kind, const char* what,
                 size_t what_size);
};

/* A column that the source reads. `values` points to uint64_t, int64_t, double, uint8_t, or struct ctprof_text for
 * strings; both are NULL when nobody fills the column. */
struct ctprof_input {
  const void* values;
  const ctprof_gap* gaps;
};

/* A column that the source fills; both NULL when nobody wants it. Scalars are written straight into `values` and the cell's gap
 * set to CTPROF_VALUE; strings, bitsets, maps and arrays go through the put_* of the batch, and `values` is NULL for them. */
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
  void (*put_bits)(void* core, uint32_t offer, uint32_t row, const uint64_t* words, size_t words_count);
  void (*put_map)(void* core, uint32_t offer, uint32_t row, const struct ctprof_entry* entries, size_t count);
  void (*put_array)(void* core, uint32_t offer, uint32_t row, const uint64_t* values, size_t count);
  /* Adds to one of the source's tallies. */
  void (*tally)(void* core, uint32_t tally, uint64_t count);
  /* Filled by the source. */
  uint32_t rows_done; /* must equal `rows` at the end */
  uint32_t reserved;
  uint64_t longest_stop_ns; /* the longest that a target was held up, 0 when none was */
  char* message;            /* room for one sentence: why it failed; or, if it did not, what the user is to be told once */
  size_t message_size;
};

/* What a source of the list stage writes to. It asks for room, fills cells as in `collect`, and says how many rows it used, in any
 * order of rows, as often as it needs. tgid, tid, comm and start_time_clock_ticks must be among its offers. */
struct ctprof_listing {
  uint32_t size;
  uint32_t pids_count;
  const uint64_t* pids; /* only these processes; none: all */
  void* core;
  struct ctprof_batch* (*room)(void* core); /* CTPROF_MAX_ROWS rows; NULL: stop, the core has had enough */
  void (*commit)(void* core, uint32_t rows);
  char* message;
  size_t message_size;
};

/* What a source has to say once a capture is over. */
struct ctprof_summary {
  uint32_t size;
  uint32_t tallies_count;
  const uint64_t* tallies; /* summed over all workers */
  uint64_t rows_listed;    /* threads that the directory walk or the list source found */
  uint64_t rows_absent;    /* of these, gone before anything could be read */
  void* core;
  /* Fields of the source's object in the file, in this order; a dot in `key` opens an inner object, which stays empty
   * when nothing follows the dot. */
  void (*put_u64)(void* core, const char* key, uint64_t value);
  void (*put_bool)(void* core, const char* key, uint32_t value);
  void (*put_text)(void* core, const char* key, const char* data, size_t size); /* NULL data: null */
  /* A sentence for the user, printed once. */
  void (*note)(void* core, const char* data, size_t size);
};

struct ctprof_source {
  uint32_t size;
  ctprof_stage stage;
  const char* name;
  struct ctprof_array offers; /* of struct ctprof_offer */
  struct ctprof_array reads;  /* of const char *: columns by name; a trailing ? marks one it can do without */
  uint32_t tallies_count;
  uint32_t reserved;
  /* Top-level key of its summary in the file, or NULL. Sources of one plugin that name the same key share tallies, and the first of
   * them speaks for all. */
  const char* summary_key;

  /* Looks at the host and refuses what cannot be filled here, with the reason. NULL: nothing is refused. */
  void (*probe)(const struct ctprof_host* host, const struct ctprof_probe* probe);
  /* A context for one worker. Returns 0 and sets *worker (which may stay NULL), or fails with a sentence in `message`. */
  int32_t (*open_worker)(const struct ctprof_host* host, void** worker, char* message, size_t message_size);
  /* Fills a batch: 0, or anything else and a sentence in the batch's message; cells untouched by then become SourceFailed. */
  int32_t (*collect)(void* worker, struct ctprof_batch* batch);
  /* For the list stage alone, instead of collect. */
  int32_t (*list)(void* worker, struct ctprof_listing* listing);
  void (*close_worker)(void* worker);
  /* May be NULL. */
  void (*summarise)(const struct ctprof_summary* summary);
};

/* ---- rules -------------------------------------------------------------------------------------------------------- */

/* Rows of one column, each with the group that it belongs to. */
struct ctprof_rows {
  uint32_t size;
  ctprof_storage storage;
  uint64_t count;
  uint64_t first_row;     /* number of the first row in its table */
  const uint32_t* groups; /* index of the group's state; UINT32_MAX: the row counts nowhere */
  const ctprof_gap* gaps; /* NULL: every row has a value */
  const void* values;     /* uint64_t, int64_t, double or uint8_t; for the other storages uint32_t ids, equal for equal content */
  const void* core;
  /* What an id stands for; valid as long as the snapshot. */
  struct ctprof_text (*text)(const void* core, uint32_t id);
  const uint64_t* (*bits)(const void* core, uint32_t id, size_t* words);
  const struct ctprof_entry* (*map)(const void* core, uint32_t id, size_t* entries);
  const char* map_keys; /* of the metric */
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
enum { CTPROF_NUMBER_NONE = 0, CTPROF_NUMBER_U64 = 1, CTPROF_NUMBER_I64 = 2, CTPROF_NUMBER_F64 = 3 };

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
  void (*put)(void* core, struct ctprof_text key, struct ctprof_number value, struct ctprof_text unit);
};

/* How readings become one value. Adding and merging must be associative and free of order. States are zeroed before `init`. */
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
  void (*finish)(void* state);                       /* once, after the last add or merge; may be NULL */
  void (*destroy)(void* state);                      /* may be NULL */
  struct ctprof_number (*number)(const void* state); /* NULL: it has none */
  /* NULL: the difference of the two numbers. Otherwise the number if there is one, or else text such as "differs". */
  struct ctprof_number (*delta)(const void* baseline, const void* candidate, const struct ctprof_sink* text);
  void (*text)(const void* state, const char* unit, const struct ctprof_sink* text); /* NULL: the number in its unit */
  void (*json)(const void* state, const struct ctprof_sink* json);                   /* NULL: the number */
  /* Named values beside the main one, as members of a JSON object without its braces; may be NULL. */
  void (*extras)(const void* state, const struct ctprof_sink* json);
  /* The parts of a value that is several numbers, such as a map: each is shown, and subtracted, by itself. May be NULL. */
  void (*parts)(const void* state, const struct ctprof_parts* parts);
};

/* ---- the plugin --------------------------------------------------------------------------------------------------- */

typedef uint32_t ctprof_plugin_flags;
enum {
  CTPROF_PLUGIN_LAYOUT = 1 /* only declares: it shapes files, is loaded whatever was asked for, and is never shown */
};

struct ctprof_plugin {
  uint32_t abi;  /* CTPROF_ABI; read before anything else */
  uint32_t size; /* sizeof(struct ctprof_plugin) */
  const char* name;
  const char* version;
  const char* description;
  ctprof_plugin_flags flags;
  uint32_t reserved;
  struct ctprof_array sources; /* of struct ctprof_source */
  struct ctprof_array metrics; /* of struct ctprof_metric: declared without an offer */
  struct ctprof_array derived; /* of struct ctprof_derived */
  struct ctprof_array rules;   /* of struct ctprof_rule */
  struct ctprof_array objects; /* of const char *: top-level keys of the file that are null when no source fills them */
};

#ifdef __cplusplus
}
#endif

#endif
