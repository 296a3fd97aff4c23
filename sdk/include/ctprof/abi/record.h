/* ctprof/abi/record.h: windows, and sources that record while a window is open. Part of
 * ctprof/abi.h, which states the compatibility rules; include ctprof/abi.h instead.
 *
 * A recorder passes raw stacks to the core: addresses, registers with a copy of the stack, or
 * frames that its BPF program found with unwind tables (ctprof/abi/unwind.h). ctprof does all other
 * unwinding and all symbolization, for all recorders. So a recorder can be small, and should be
 * cheap, because it runs while other threads are measured.
 *
 *     static int32_t drain_records(void* worker, struct ctprof_records* records) {
 *       struct ctprof_record record = {.size = sizeof record};
 *       while (next_sample(worker, &record)) records->put(records->core, &record);
 *       records->lost += samples_lost(worker);
 *       return CTPROF_DONE;
 *     }
 */
#ifndef CTPROF_ABI_RECORD_H
#define CTPROF_ABI_RECORD_H

#include "ctprof/abi/cells.h"
#include "ctprof/abi/unwind.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A source of the stages EXITED and RECORD works while a window is open:
 *
 *     open_worker -> start -> drain, drain ... -> stop -> drain ... -> close_worker
 *
 * Windows may follow each other without a gap. At the end of each window, the core calls
 * `window_ends`, if the source has it, and then `drain`; `stop` follows the last window. If a
 * source has `window_opens`, its windows begin with that call; between `window_ends` and the next
 * `window_opens` the source works for no window.
 *
 * One worker makes all these calls, on one thread at a time. A second `start` and a second `stop`
 * return CTPROF_ALREADY and have no effect; close_worker stops a source that still runs. */
enum { CTPROF_DONE = 0, CTPROF_FAILED = 1, CTPROF_ALREADY = 2 };

/* The user part of a record's stack. */
typedef uint32_t ctprof_user_stack;
enum {
  /* No user part: a kernel thread, or the user part is unavailable (a flag states this). */
  CTPROF_USER_NONE = 0,
  /* `user` contains addresses, leaf first. */
  CTPROF_USER_ADDRESSES = 1,
  /* Registers, and in `stack` a copy of memory, beginning at the stack pointer. */
  CTPROF_USER_COPY = 2,
  /* `user` contains frames that the source found with unwind tables, leaf first, one word for each;
   * see below. A stack without the flag CUT reaches the root of its thread. */
  CTPROF_USER_FRAMES = 3
};

/* A frame is an instruction: the one that was running, or, for a caller, the last byte of its call
 * instruction. Its word contains the number of a table (ctprof/abi/unwind.h) in 22 bits from bit 40
 * on, and the offset in the module in the bits below. With CTPROF_FRAME_ADDRESS, it contains an
 * address of code that belongs to no file. */
enum { CTPROF_FRAME_TABLE_SHIFT = 40 };
#define CTPROF_FRAME_ADDRESS (UINT64_C(1) << 63)
/* found through frame pointers, or a caller of such a frame */
#define CTPROF_FRAME_GUESSED (UINT64_C(1) << 62)

typedef uint32_t ctprof_window_flags;
enum {
  /* One pass over the current state instead of a period of time, complete in the first drain. */
  CTPROF_WINDOW_ONCE = 1,
  /* A stack for every event, at any cost, instead of one per period of time. */
  CTPROF_WINDOW_EVERY_STACK = 2,
  /* Stacks of all off-CPU time, not only of the time in which a thread was blocked. */
  CTPROF_WINDOW_ALL_WAITS = 4,
  /* With `pids`: also processes that these processes, or their children, fork while the window is
   * open. A recorder that follows them delivers each as CTPROF_CHANGE_FORKED before its first
   * record. */
  CTPROF_WINDOW_INHERIT = 8,
  /* The core creates unwind tables (ctprof_records.want_table) and accepts CTPROF_USER_FRAMES. */
  CTPROF_WINDOW_TABLES = 16
};

/* The parameters of a window. A field that is 0 or NULL sets no restriction, or leaves the choice
 * to the source. The struct is valid only during `start`: copy what you need. */
struct ctprof_window {
  uint32_t size;
  uint32_t pids_count;
  /* Only these processes. */
  const uint64_t* pids;
  /* Only threads in these cgroups, identified by id, and in their descendants. */
  const uint64_t* cgroups;
  uint32_t cgroups_count;
  /* Samples per second on each CPU. */
  uint32_t frequency_hz;
  /* The average time per stack. */
  uint64_t period_ns;
  /* Time at which the window was opened, on CLOCK_BOOTTIME. */
  uint64_t opened_ns;
  /* The maximum number of frames of a stack. Mark a longer stack as CUT, and keep its leaf. */
  uint32_t depth;
  /* The number of bytes to copy from the top of the user stack. */
  uint32_t stack_bytes;
  /* The budget: the share of all CPUs' time that the source may use, in millionths. Reduce the
   * sampling rate before you exceed it, and count the omitted samples as `unseen`. */
  uint64_t budget_ppm;
  /* A process that does not run yet and whose descendants are to be reported; 0: none. */
  uint64_t command;
  /* The requested form of the user part of a stack; CTPROF_USER_NONE: any form. */
  ctprof_user_stack user_kind CTPROF_TAIL;
  uint32_t reserved CTPROF_TAIL;
  /* Size of the kernel's buffer for each CPU. The source may use a smaller one, and reports this.
   */
  uint64_t ring_bytes CTPROF_TAIL;
  /* Passes over all threads per second. */
  uint32_t passes_hz CTPROF_TAIL;
  ctprof_window_flags flags CTPROF_TAIL;
  /* The indexes of the source's requested offers, in ascending order; NULL: unknown, all may be
   * requested. Do nothing for other offers: their records fail the source. */
  const uint32_t* offers CTPROF_TAIL;
  uint32_t offers_count CTPROF_TAIL;
  uint32_t reserved2 CTPROF_TAIL;
};

typedef uint32_t ctprof_record_flags;
enum {
  /* frames are missing at the root */
  CTPROF_RECORD_CUT = 1,
  /* the user part is unavailable */
  CTPROF_RECORD_NO_USER = 2,
  /* found through frame pointers where no unwind information confirms them */
  CTPROF_RECORD_GUESSED = 4,
  /* the stack equals that of the last record that was put for this offer and thread in this window,
   * and is not repeated here. If no such record exists, the next flag applies */
  CTPROF_RECORD_AGAIN = 8,
  /* a weight without a stack: it belongs to the thread, but to no stack */
  CTPROF_RECORD_REST = 16,
  /* no weight and no stack: the kernel does not permit the source to observe this thread. Without
   * another record of this offer, the thread's cell becomes a gap (CTPROF_DENIED) instead of zero
   */
  CTPROF_RECORD_UNSEEN = 32,
  /* the record counts regardless of `at_ns`, because the source itself opens and closes its windows
   * with nanosecond precision. `at_ns` then only identifies the thread */
  CTPROF_RECORD_OF_WINDOW = 64
};

/* One raw stack of one thread, or, for a numeric offer, an increment. The data is valid only during
 * the call that passes it.
 *
 * A source of the stage RECORD offers metrics that are stored as stacks. It may also offer metrics
 * that are stored as CTPROF_U64; their records have a weight and no stack. For a cumulative metric,
 * the weights of a thread are added, and a thread without a record has 0. For any other metric, the
 * value is the largest weight of the thread, or the smallest if the metric's rule takes the
 * minimum, and a thread without a record has no value. All values cover the window, not the life of
 * the thread: mark a peak with CTPROF_METRIC_OF_WINDOW.
 *
 * For a histogram (CTPROF_ARRAY, histogram.h), `weight` is added to the bucket `element`, and a
 * thread without a record has an empty histogram. */
struct ctprof_record {
  uint32_t size;
  /* The index of the source's offer that it belongs to. */
  uint32_t offer;
  /* The thread. The start time identifies the thread uniquely; without it, a thread whose id was
   * reused may be confused with another. */
  uint64_t tgid;
  uint64_t tid;
  /* 0: unknown. */
  uint64_t start_time_clock_ticks;
  /* In the unit of the offer's metric: nanoseconds on a CPU, samples ... */
  uint64_t weight;
  ctprof_record_flags flags;
  ctprof_user_stack user_kind;
  /* Addresses, leaf first; with CTPROF_USER_FRAMES, `user` contains words of frames. */
  const uint64_t* kernel;
  const uint64_t* user;
  uint32_t kernel_count;
  uint32_t user_count;
  /* Registers, for CTPROF_USER_COPY. The last one contains rdi on x86-64, where vfork(2) keeps its
   * return address; 0: unknown. */
  uint64_t ip;
  uint64_t sp;
  uint64_t bp;
  uint64_t lr;
  const uint8_t* stack;
  uint64_t stack_size;
  /* Time of the sample on CLOCK_BOOTTIME; 0: unknown. It identifies the thread if an id was reused
   * inside the window, and the mappings that were valid. */
  uint64_t at_ns CTPROF_TAIL;
  /* For a histogram: the number of the bucket. */
  uint32_t element CTPROF_TAIL;
  uint32_t reserved CTPROF_TAIL;
};

/* A change of a process's mappings while the window is open. Addresses in a record cannot be
 * resolved without it: the process may unmap the file before the core reads its mappings. */
typedef uint32_t ctprof_change_kind;
enum {
  /* The process mapped a file, or anonymous memory (no path), with permission to execute. */
  CTPROF_CHANGE_MAPPED = 0,
  /* The process executed another program; all earlier mappings are gone. */
  CTPROF_CHANGE_EXECED = 1,
  /* The process was forked and has the mappings of `parent`. */
  CTPROF_CHANGE_FORKED = 2,
  /* The process exited. */
  CTPROF_CHANGE_ENDED = 3,
  /* The process changed mappings that the source does not know; the core must read them again. */
  CTPROF_CHANGE_REMAPPED = 4
};

/* A change. The data is valid only during the call that passes it. */
struct ctprof_change {
  uint32_t size;
  ctprof_change_kind kind;
  uint64_t tgid;
  /* CLOCK_BOOTTIME. */
  uint64_t at_ns;
  /* For FORKED. */
  uint64_t parent;
  /* For MAPPED, from here on: address range, and the file offset where it begins. */
  uint64_t start;
  uint64_t length;
  uint64_t offset;
  /* As in stat(2); both 0: unknown. */
  uint32_t device_major;
  uint32_t device_minor;
  uint64_t inode;
  /* Path as the process sees it. */
  struct ctprof_text path;
  /* Build id of the file; size 0: unknown. */
  struct ctprof_text build_id;
};

/* Why records are missing. */
typedef uint32_t ctprof_loss_kind;
enum {
  /* recorded and then lost: the buffer was full */
  CTPROF_LOSS_FULL = 0,
  /* not recorded: the kernel throttled the source */
  CTPROF_LOSS_THROTTLED = 1,
  /* not recorded: the CPU was offline */
  CTPROF_LOSS_OFFLINE = 2
};

/* A period of time on one CPU for which records are missing. It locates the loss; the number of
 * records is counted in ctprof_records as well. */
struct ctprof_loss {
  uint32_t size;
  ctprof_loss_kind kind;
  uint32_t cpu;
  uint32_t reserved;
  /* CLOCK_BOOTTIME. */
  uint64_t from_ns;
  uint64_t until_ns;
  /* Number of records; 0: unknown. */
  uint64_t count;
};

/* Receives the records of a source of the stage RECORD. */
struct ctprof_records {
  uint32_t size;
  uint32_t reserved;
  void* core;
  /* Copies the record before it returns. An inconsistent record (wrong sizes, a NULL, an invalid
   * offer) fails the source. */
  void (*put)(void* core, const struct ctprof_record* record);
  /* A buffer for one sentence that ends with a NUL: why draining failed, or, if it succeeded, a
   * remark that is reported to the user. A later remark replaces it. */
  char* message;
  size_t message_size;
  /* The plugin's context. */
  void* context;
  /* Filled by the source, both since the last drain. `lost`: records that were lost, for example by
   * a full buffer. */
  uint64_t lost;
  /* Records that were due and not recorded: throttled, or the CPU was offline. */
  uint64_t unseen;
  /* These also copy before they return. Pass changes before the records that depend on them. A loss
   * must still be counted in the fields above. */
  void (*change)(void* core, const struct ctprof_change* change) CTPROF_TAIL;
  void (*lose)(void* core, const struct ctprof_loss* loss) CTPROF_TAIL;
  /* Filled by the source, since the last drain: CPU time that it used outside its own calls, such
   * as in programs that it attached to the kernel, if it is known. */
  uint64_t cpu_ns CTPROF_TAIL;
  /* Requests a table and returns immediately. A later drain answers each request once. */
  void (*want_table)(void* core, const struct ctprof_table_request* request) CTPROF_TAIL;
  /* Gets the next answer: 1, and the table is filled in, or 0: no answer is available yet. The
   * table is valid until the next call or the end of the drain. The source sets `table.size`. */
  int32_t (*next_table)(void* core, struct ctprof_unwind_table* table) CTPROF_TAIL;
};

#ifdef __cplusplus
}
#endif

#endif
