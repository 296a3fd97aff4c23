/* ctprof/abi/record.h: windows, and what records while one is open. Part of ctprof/abi.h, which
 * says how all of it may change; include that.
 *
 * A recorder hands over raw stacks: addresses, or registers with a copy of the stack. Unwinding and
 * naming are ctprof's work, shared by all recorders. So a recorder can be small, and should be
 * cheap: it runs while others are being measured.
 *
 *     static int32_t drain_records(void* worker, struct ctprof_records* records) {
 *       struct ctprof_record record = {.size = sizeof record};
 *       while (next_sample(worker, &record)) records->put(records->core, &record);
 *       records->lost = samples_lost(worker);
 *       return CTPROF_DONE;
 *     }
 */
#ifndef CTPROF_ABI_RECORD_H
#define CTPROF_ABI_RECORD_H

#include "ctprof/abi/cells.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A source of the stages EXITED and RECORD works while a window is open:
 *
 *     open_worker -> start -> drain, drain ... -> stop -> drain ... -> close_worker
 *
 * One worker does all of it, on one thread at a time. A second `start`, and a second `stop`, are
 * errors of their own (CTPROF_ALREADY) that change nothing; close_worker stops what still runs. */
enum { CTPROF_DONE = 0, CTPROF_FAILED = 1, CTPROF_ALREADY = 2 };

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
};

/* The user part of a record's stack. */
typedef uint32_t ctprof_user_stack;
enum {
  /* There is none: a kernel thread, or it could not be had (a flag says so). */
  CTPROF_USER_NONE = 0,
  /* `user` are addresses, leaf first. */
  CTPROF_USER_ADDRESSES = 1,
  /* Registers, and `stack` is a copy of memory from the stack pointer on. */
  CTPROF_USER_COPY = 2
};

typedef uint32_t ctprof_record_flags;
enum {
  /* frames are missing at the root */
  CTPROF_RECORD_CUT = 1,
  /* the user part could not be had */
  CTPROF_RECORD_NO_USER = 2,
  /* found by frame pointers where nothing vouches for them */
  CTPROF_RECORD_GUESSED = 4
};

/* One stack of one thread, raw. Nothing in it outlives the call that hands it over. */
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
  /* Addresses, leaf first. */
  const uint64_t* kernel;
  const uint64_t* user;
  uint32_t kernel_count;
  uint32_t user_count;
  /* Registers, of CTPROF_USER_COPY; the last on arm64 alone. */
  uint64_t ip;
  uint64_t sp;
  uint64_t bp;
  uint64_t lr;
  const uint8_t* stack;
  uint64_t stack_size;
};

/* Where a source of the stage RECORD puts its records. */
struct ctprof_records {
  uint32_t size;
  uint32_t reserved;
  void* core;
  /* Copies at once. */
  void (*put)(void* core, const struct ctprof_record* record);
  /* Room for one sentence, for when draining fails. */
  char* message;
  size_t message_size;
  /* The plugin's. */
  void* context;
  /* Filled by the source, both since the last drain. Taken and lost, by a full buffer for example:
   */
  uint64_t lost;
  /* That should have been taken, and were not: throttled, a CPU that was offline. */
  uint64_t unseen;
};

#ifdef __cplusplus
}
#endif

#endif
