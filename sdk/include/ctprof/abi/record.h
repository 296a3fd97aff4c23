/* ctprof/abi/record.h: windows, and what records while one is open. Part of ctprof/abi.h, which
 * says how all of it may change; include that.
 *
 * A recorder hands over raw stacks: addresses, registers with a copy of the stack, or frames that
 * its program in the kernel found by unwind tables (ctprof/abi/unwind.h). Other unwinding and
 * naming are ctprof's work, shared by all recorders. So a recorder can be small, and should be
 * cheap: it runs while others are being measured.
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
 * Windows may follow each other without a gap. At the end of each there is a drain, and before that
 * drain comes `window_ends`, where a source has it; `stop` comes after the last. Windows of a
 * source that has `window_opens` begin there; between `window_ends` and the next `window_opens` the
 * source works for no window.
 *
 * One worker does all of it, on one thread at a time. A second `start`, and a second `stop`, are
 * errors of their own (CTPROF_ALREADY) that change nothing; close_worker stops what still runs. */
enum { CTPROF_DONE = 0, CTPROF_FAILED = 1, CTPROF_ALREADY = 2 };

/* The user part of a record's stack. */
typedef uint32_t ctprof_user_stack;
enum {
  /* There is none: a kernel thread, or it could not be had (a flag says so). */
  CTPROF_USER_NONE = 0,
  /* `user` are addresses, leaf first. */
  CTPROF_USER_ADDRESSES = 1,
  /* Registers, and `stack` is a copy of memory from the stack pointer on. */
  CTPROF_USER_COPY = 2,
  /* `user` are frames that the source found by unwind tables, leaf first; a word for each, see
   * below. A stack without the flag CUT reaches the root of its thread. */
  CTPROF_USER_FRAMES = 3
};

/* A frame is an instruction: the one that was running, or, of a caller, the last byte of its call.
 * Its word has the number of a table (ctprof/abi/unwind.h) from bit 40 on, 22 bits, and the place
 * in its module in the bits below; or, with CTPROF_FRAME_ADDRESS, an address of code of no file. */
enum { CTPROF_FRAME_TABLE_SHIFT = 40 };
#define CTPROF_FRAME_ADDRESS (UINT64_C(1) << 63)
/* found by frame pointers, or behind a frame that was */
#define CTPROF_FRAME_GUESSED (UINT64_C(1) << 62)

typedef uint32_t ctprof_window_flags;
enum {
  /* There is no span of time: one look at what is there now, complete in the first drain. */
  CTPROF_WINDOW_ONCE = 1,
  /* A stack at each event, whatever it costs, and not one for so much time. */
  CTPROF_WINDOW_EVERY_STACK = 2,
  /* Stacks of all times off a CPU, and not of those alone in which a thread was blocked. */
  CTPROF_WINDOW_ALL_WAITS = 4,
  /* Of `pids`: also processes that they, or their children, fork while the window is open. A
   * recorder that follows them delivers each as CTPROF_CHANGE_FORKED before its first record. */
  CTPROF_WINDOW_INHERIT = 8,
  /* The core makes unwind tables (ctprof_records.want_table) and takes CTPROF_USER_FRAMES. */
  CTPROF_WINDOW_TABLES = 16
};

/* What a window is about. Whatever is 0 or NULL is not restricted, or left to the source. It is
 * gone after `start`: copy what you need. */
struct ctprof_window {
  uint32_t size;
  uint32_t pids_count;
  /* Only these processes. */
  const uint64_t* pids;
  /* Only threads in these cgroups, by id, and below them. */
  const uint64_t* cgroups;
  uint32_t cgroups_count;
  /* Samples a second on each CPU. */
  uint32_t frequency_hz;
  /* One stack for so much time, on average. */
  uint64_t period_ns;
  /* CLOCK_BOOTTIME, when the window was opened. */
  uint64_t opened_ns;
  /* The most frames of a stack. Mark one that is longer as CUT, and keep its leaf. */
  uint32_t depth;
  /* How much of the user stack's top to copy. */
  uint32_t stack_bytes;
  /* Of all CPUs' time, in millionths: what the source may cost the host. Lower your rate before
   * you overrun it, and count what you left out as `unseen`. */
  uint64_t budget_ppm;
  /* A process, not running yet, whose descendants somebody wants to know; 0: none. */
  uint64_t command;
  /* How the user part of a stack is wanted; CTPROF_USER_NONE: as the source likes. */
  ctprof_user_stack user_kind CTPROF_TAIL;
  uint32_t reserved CTPROF_TAIL;
  /* Of the kernel's buffer for each CPU. The source may take less, and says so. */
  uint64_t ring_bytes CTPROF_TAIL;
  /* Looks at all threads a second. */
  uint32_t passes_hz CTPROF_TAIL;
  ctprof_window_flags flags CTPROF_TAIL;
};

typedef uint32_t ctprof_record_flags;
enum {
  /* frames are missing at the root */
  CTPROF_RECORD_CUT = 1,
  /* the user part could not be had */
  CTPROF_RECORD_NO_USER = 2,
  /* found by frame pointers where nothing vouches for them */
  CTPROF_RECORD_GUESSED = 4,
  /* the stack is that of the last record of this offer that was put for this thread in this window;
   * there is none in this one. Where there was no such record, it is as the next flag says */
  CTPROF_RECORD_AGAIN = 8,
  /* a weight without a stack: it is of the thread, and of no stack of its own */
  CTPROF_RECORD_REST = 16,
  /* no weight, and no stack: the kernel does not let the source see it, of this thread. Where there
   * is no other record of this offer, the thread's cell is a gap (CTPROF_DENIED), and not zero */
  CTPROF_RECORD_UNSEEN = 32,
  /* it counts, whatever `at_ns` says: the source opens and closes its windows itself, to the
   * nanosecond. Then `at_ns` tells who it was, and no more */
  CTPROF_RECORD_OF_WINDOW = 64
};

/* One stack of one thread, raw; or, of an offer that is a number, how much it grew. Nothing in it
 * outlives the call that hands it over.
 *
 * A source of the stage RECORD offers metrics that are stored as stacks, and beside them such as
 * are stored as CTPROF_U64. A record of these has a weight and no stack. Of what counts up, a
 * thread's weights are added, and one without a record has 0; of anything else the largest one is
 * what the thread has, or the least where the metric's rule takes that, and one without a record
 * has none. Either way it is about the window, not about the thread's life: mark a peak
 * CTPROF_METRIC_OF_WINDOW. */
struct ctprof_record {
  uint32_t size;
  /* Which of the source's offers it is a reading of. */
  uint32_t offer;
  /* Whose it is. With the start time a thread is named for good; without it, one whose id was used
   * again may be taken for another. */
  uint64_t tgid;
  uint64_t tid;
  /* 0: not known. */
  uint64_t start_time_clock_ticks;
  /* In the unit of the offer's metric: nanoseconds on a CPU, samples ... */
  uint64_t weight;
  ctprof_record_flags flags;
  ctprof_user_stack user_kind;
  /* Addresses, leaf first; of CTPROF_USER_FRAMES `user` has words of frames. */
  const uint64_t* kernel;
  const uint64_t* user;
  uint32_t kernel_count;
  uint32_t user_count;
  /* Registers, of CTPROF_USER_COPY. The last is rdi on x86-64, where vfork(2) keeps its return
   * address; 0: not known. */
  uint64_t ip;
  uint64_t sp;
  uint64_t bp;
  uint64_t lr;
  const uint8_t* stack;
  uint64_t stack_size;
  /* CLOCK_BOOTTIME, when it was taken; 0: not known. It tells who it was, where an id was used
   * again inside the window, and what was mapped then. */
  uint64_t at_ns CTPROF_TAIL;
};

/* What happened to the memory of a process while the window is open. Addresses in a record mean
 * nothing without it: the file behind them may be gone from the process before anybody looks. */
typedef uint32_t ctprof_change_kind;
enum {
  /* It mapped a file, or memory without one (no path), to run code from it. */
  CTPROF_CHANGE_MAPPED = 0,
  /* It runs another program, and all that was mapped is gone. */
  CTPROF_CHANGE_EXECED = 1,
  /* It is new, and has what `parent` had mapped. */
  CTPROF_CHANGE_FORKED = 2,
  /* It ended. */
  CTPROF_CHANGE_ENDED = 3,
  /* It mapped or unmapped what the source does not know: it is to be read anew. */
  CTPROF_CHANGE_REMAPPED = 4
};

/* Nothing in it outlives the call that hands it over. */
struct ctprof_change {
  uint32_t size;
  ctprof_change_kind kind;
  uint64_t tgid;
  /* CLOCK_BOOTTIME. */
  uint64_t at_ns;
  /* Of FORKED. */
  uint64_t parent;
  /* Of MAPPED, from here on: addresses, and where in the file they begin. */
  uint64_t start;
  uint64_t length;
  uint64_t offset;
  /* As stat(2) has them; both 0: not known. */
  uint32_t device_major;
  uint32_t device_minor;
  uint64_t inode;
  /* As the process sees it. */
  struct ctprof_text path;
  /* As the file has it; size 0: not known. */
  struct ctprof_text build_id;
};

/* Why something is missing from the records. */
typedef uint32_t ctprof_loss_kind;
enum {
  /* taken, and lost: the buffer was full */
  CTPROF_LOSS_FULL = 0,
  /* not taken: the kernel held the source back */
  CTPROF_LOSS_THROTTLED = 1,
  /* not taken: the CPU was offline */
  CTPROF_LOSS_OFFLINE = 2
};

/* One stretch of time on one CPU that records are missing from. It says where; how many there are
 * is in ctprof_records, too. */
struct ctprof_loss {
  uint32_t size;
  ctprof_loss_kind kind;
  uint32_t cpu;
  uint32_t reserved;
  /* CLOCK_BOOTTIME. */
  uint64_t from_ns;
  uint64_t until_ns;
  /* Records; 0: not known. */
  uint64_t count;
};

/* Where a source of the stage RECORD puts its records. */
struct ctprof_records {
  uint32_t size;
  uint32_t reserved;
  void* core;
  /* Copies at once. A record that lies about itself (sizes, a NULL, an offer that is none) fails
   * the source. */
  void (*put)(void* core, const struct ctprof_record* record);
  /* Room for one sentence that ends with a NUL: why draining failed; or, if it did not, what the
   * user is to be told once. */
  char* message;
  size_t message_size;
  /* The plugin's. */
  void* context;
  /* Filled by the source, both since the last drain. Taken and lost, by a full buffer for example:
   */
  uint64_t lost;
  /* That should have been taken, and were not: throttled, a CPU that was offline. */
  uint64_t unseen;
  /* These copy at once, too. Hand over changes before the records that they matter to; and what is
   * missing is still to be counted above. */
  void (*change)(void* core, const struct ctprof_change* change) CTPROF_TAIL;
  void (*lose)(void* core, const struct ctprof_loss* loss) CTPROF_TAIL;
  /* Filled by the source, since the last drain: CPU time that it cost elsewhere than in its own
   * calls, as in programs that it attached to the kernel; as far as that is known. */
  uint64_t cpu_ns CTPROF_TAIL;
  /* Asks for a table; returns at once. Each request is answered once, by a later drain. */
  void (*want_table)(void* core, const struct ctprof_table_request* request) CTPROF_TAIL;
  /* The next answer: 1, and the table is filled in, or 0: there is none now. The table is valid
   * until the next call, or the end of the drain. `table.size` is set by the source. */
  int32_t (*next_table)(void* core, struct ctprof_unwind_table* table) CTPROF_TAIL;
};

#ifdef __cplusplus
}
#endif

#endif
