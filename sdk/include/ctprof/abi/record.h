/* ctprof/abi/record.h: windows, and what records while one is open. Part of ctprof/abi.h, which
 * says how all of it may change; include that. */
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
 * One worker does all of it. A second `start`, and a second `stop`, are errors of their own
 * (CTPROF_ALREADY) that change nothing; close_worker stops what still runs. */
enum { CTPROF_DONE = 0, CTPROF_FAILED = 1, CTPROF_ALREADY = 2 };

/* What a window is about. Whatever is 0 or NULL is not restricted, or left to the source. */
struct ctprof_window {
  uint32_t size;
  uint32_t pids_count;
  const uint64_t* pids;    /* only these processes */
  const uint64_t* cgroups; /* only threads in these cgroups, by id, and below them */
  uint32_t cgroups_count;
  uint32_t frequency_hz; /* samples a second on each CPU */
  uint64_t period_ns;    /* one stack for so much time, on average */
  uint64_t opened_ns;    /* CLOCK_BOOTTIME, when the window was opened */
  uint32_t depth;        /* the most frames of a stack */
  uint32_t stack_bytes;  /* of the user stack's top, to copy */
  uint64_t budget_ppm;   /* of all CPUs' time, in millionths: what the source may cost the host */
};

/* The user part of a record's stack. */
typedef uint32_t ctprof_user_stack;
enum {
  CTPROF_USER_NONE =
      0, /* there is none: a kernel thread, or it could not be had (a flag says so) */
  CTPROF_USER_ADDRESSES = 1, /* `user` are addresses, leaf first */
  CTPROF_USER_COPY = 2 /* registers, and `stack` is a copy of memory from the stack pointer on */
};

typedef uint32_t ctprof_record_flags;
enum {
  CTPROF_RECORD_CUT = 1,     /* frames are missing at the root */
  CTPROF_RECORD_NO_USER = 2, /* the user part could not be had */
  CTPROF_RECORD_GUESSED = 4  /* found by frame pointers where nothing vouches for them */
};

/* One stack of one thread, raw. Nothing in it outlives the call that hands it over. */
struct ctprof_record {
  uint32_t size;
  uint32_t offer; /* which of the source's offers it is a reading of */
  uint64_t tgid;
  uint64_t tid;
  uint64_t start_time_clock_ticks; /* 0: not known */
  uint64_t weight;                 /* in the unit of the offer's metric */
  ctprof_record_flags flags;
  ctprof_user_stack user_kind;
  const uint64_t* kernel; /* addresses, leaf first */
  const uint64_t* user;
  uint32_t kernel_count;
  uint32_t user_count;
  uint64_t ip; /* registers, of CTPROF_USER_COPY */
  uint64_t sp;
  uint64_t bp;
  uint64_t lr; /* arm64 */
  const uint8_t* stack;
  uint64_t stack_size;
};

/* Where a source of the stage RECORD puts its records. */
struct ctprof_records {
  uint32_t size;
  uint32_t reserved;
  void* core;
  void (*put)(void* core, const struct ctprof_record* record); /* copies at once */
  char* message;
  size_t message_size;
  void* context; /* the plugin's */
  /* Filled by the source: how many since the last drain. */
  uint64_t lost; /* taken and lost, by a full buffer for example */
  uint64_t
      unseen; /* that should have been taken, and were not: throttled, a CPU that was offline */
};

#ifdef __cplusplus
}
#endif

#endif
