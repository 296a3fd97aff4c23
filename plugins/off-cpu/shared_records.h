/* Data that the programs share with their reader: the state of a thread, the records, and the
 * reader's settings. */
#ifndef CTPROF_OFF_CPU_TOLD_H
#define CTPROF_OFF_CPU_TOLD_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "plugins/shared/walk_tables.h"

/* The state of a thread. The kinds of waiting come first, and are the indices of their sums. */
enum off_state {
  OFF_SLEEPING = 0,  /* blocked, interruptible: sleeping, idle, stopped */
  OFF_BLOCKED = 1,   /* blocked, uninterruptible: a disk, a lock in the kernel */
  OFF_QUEUED = 2,    /* woken up, or new, and waiting for a CPU */
  OFF_PREEMPTED = 3, /* waiting for a CPU after preemption or after yielding */
  OFF_WAIT_STATES = 4,
  OFF_RUNNING = 4,
  OFF_STATES = 5,
  OFF_UNKNOWN = 6,
  OFF_EXITED = 7
};

/* The sums of one thread over one window. Times add up to the window, or to the part of it in which
 * the thread existed. */
struct off_sums {
  __u64 ns[OFF_STATES];
  __u32 counts[OFF_WAIT_STATES];
  __u32 waits; /* from leaving a CPU to being back on one; each part of a wait that is split at an
                * edge counts */
  __u32 unexpected_events; /* events that contradict the stored state */
  __u64 longest;
  __u64 shortest; /* 0: there was no wait */
};

/* Histograms of single times, by their kind. */
enum off_histogram {
  OFF_BLOCKED_WAITS = 0, /* blocked, interruptible or not */
  OFF_CPU_WAITS = 1,     /* queued or preempted */
  OFF_SLICES = 2         /* running */
};
/* Of the buckets of a histogram (ctprof/abi/histogram.h), those from 512 ns to 36 min are stored:
 * three histograms of two windows have 1,536 bytes. Shorter and longer times count in the first and
 * the last one. */
enum { OFF_HISTOGRAMS = 3, OFF_FIRST_BUCKET = 18, OFF_BUCKETS = 64 };

/* The histograms of one thread over one window: bucket n of histogram h is counts[h * OFF_BUCKETS +
 * n]. A state that spans an edge of the window counts as one time on each side. */
struct off_histograms {
  __u32 counts[OFF_HISTOGRAMS * OFF_BUCKETS];
} __attribute__((aligned(8)));

/* Of this window and of the previous one, as in off_thread. Programs keep them only on request. */
struct off_histogram_pair {
  struct off_histograms windows[2];
};

/* The first identity of a thread. When the thread takes its leader's place by exec, its tid becomes
 * the leader's. No other thread has this identity. */
struct off_origin {
  __u64 start_boottime;
  __u32 tid;
  __u32 unused;
};

/* The state of a living thread. */
struct off_thread {
  __u32 state;
  __u32 window;  /* the window of the sums; 0: before the first one */
  __u32 version; /* odd during a change */
  __u32 events;
  __u64 state_start;         /* start of the state, or of the window if that is later */
  __u64 departure;           /* when the thread left its CPU, or the window's start if later */
  __u64 arrival;             /* when the thread was given its CPU; 0: unknown */
  __u64 run_time_at_arrival; /* its run time at that point, by the kernel's accounting */
  __u64 uncharged_total;     /* waiting time since the last stack that is charged to no stack */
  __u64 next_threshold;      /* the value of `uncharged_total` at which the next stack is due */
  __u64 due_weight;          /* the time that is charged to the due stack */
  __u64 current_wait;        /* finished parts of the current wait that may be charged to a stack */
  __u64 created;             /* 0: before the first window */
  __u32 events_at_first_pass; /* the value of `events` at the first pass over all threads */
  __u32 unused;
  struct off_origin origin;
  struct off_sums sums[2]; /* of this window and of the previous one, indexed by the lowest bit of
                            * the number */
};

enum off_kind {
  OFF_STACK = 1,        /* a wait ended: struct off_stack */
  OFF_EXIT = 2,         /* a thread exited: struct off_exit */
  OFF_FORK = 3,         /* a process was created: struct off_process */
  OFF_EXEC = 4,         /* a process runs another program: the same struct, without a parent */
  OFF_WALKED_STACK = 5, /* like OFF_STACK, with user-space frames instead of a copy */
  OFF_MISS = 6          /* code of a file without an unwind table: struct off_miss */
};

/* The identity of a thread. */
struct off_identity {
  __u32 tgid;
  __u32 tid;
  __u64 start_boottime;
};

/* Frames of the kernel part, and of a walked user part unless more are requested. */
enum { OFF_FRAMES = 127 };
/* A copy of a user stack: bytes of a piece, and pieces of a copy and of a large copy. */
enum { OFF_PIECE = 1024, OFF_PIECES = 4, OFF_LARGE_PIECES = 16 };

/* The kernel part of a stack, and the user-space registers. */
struct off_stack_place {
  __u64 memory; /* identifies the address space; together with `code` detects new mappings */
  __u64 code;
  __u64 ip, sp, bp, lr;
  __u32 has_user; /* whether the registers are usable */
  __s32 kernel_bytes;
  __u64 kernel[OFF_FRAMES];
};

/* The user stack is copied from the start of the piece that contains `place.sp`. A large copy
 * continues after the struct. OFF_WALKED_STACK has frames in `user` instead (walk_state.h):
 * `pieces` is their number, and `unused` is 1 if frames are missing at the root. With up to
 * OFF_FRAMES frames, the record ends after them.
 */
struct off_stack {
  __u32 kind;
  __u32 window;
  struct off_identity identity;
  __u64 at; /* on CLOCK_MONOTONIC, like all times in this file */
  __u64 weight;
  struct off_origin origin;
  struct off_stack_place place;
  __u32 pieces;
  __u32 unused;
  __u8 user[OFF_PIECES * OFF_PIECE];
};

#define OFF_STACK_WITHOUT_USER __builtin_offsetof(struct off_stack, user)

#define OFF_WALKED_BYTES (OFF_STACK_WITHOUT_USER + 8 * (OFF_FRAMES + 1))

struct off_miss {
  __u32 kind;
  __u32 tgid; /* the process that has mapped it */
  struct walk_miss miss;
};

struct off_exit {
  __u32 kind;
  __u32 unused;
  struct off_identity identity;
  __u64 at;
  struct off_thread thread;
};

/* An exit, if histograms are kept. */
struct off_exit_histograms {
  struct off_exit end;
  __u32 is_known; /* 0: there was no memory for the histograms */
  __u32 unused;
  struct off_histogram_pair histograms;
};

struct off_process {
  __u32 kind;
  __u32 tgid;
  __u32 parent;
  __u32 unused;
  __u64 at;
};

/* The record of each thread in a pass over all threads. */
struct off_snapshot {
  struct off_identity identity;
  struct off_thread thread;
  struct off_stack_place
      place; /* contains `kernel_bytes` bytes of `kernel`; none unless the thread waits
              */
};

/* The same, if histograms are kept. */
struct off_snapshot_histograms {
  struct off_snapshot snapshot;
  __u32 is_known; /* as in off_exit_histograms */
  __u32 unused;
  struct off_histogram_pair histograms;
};

/* The identity of a thread, and its number of events, which shows whether events occurred since. */
struct off_check {
  struct off_identity identity;
  __u64 events;
};

/* The purpose of a pass over all threads. */
enum off_pass_purpose {
  OFF_FIRST_PASS = 0,    /* create the state of each thread, and determine its state */
  OFF_SECOND_PASS = 1,   /* determine the state of threads without an event since the first pass */
  OFF_COLLECT = 2,       /* write everything: struct off_snapshot */
  OFF_CHECK = 3,         /* write identity and number of events: struct off_check */
  OFF_FOLLOW_MOVED = 4,  /* follow selected threads that are not followed yet */
  OFF_LIST_PROCESSES = 5 /* list each process, selected or not: struct off_check, without events */
};

enum { OFF_WINDOWS = 4 };

/* Counted for each CPU. */
enum off_counter {
  OFF_SWITCHES = 0,
  OFF_WAKEUPS = 1,
  OFF_DUE_STACKS = 2, /* stacks that were due */
  OFF_LOST_STACKS = 3,
  OFF_LOST_EXITS = 4,
  OFF_LOST_CHANGES = 5,    /* creations and execs of processes */
  OFF_UNKNOWN_THREADS = 6, /* threads for which there was no memory */
  OFF_CGROUP_MOVES = 7,    /* moves of processes with several threads into a selected cgroup */
  OFF_COUNTERS = 8
};

/* The state of one CPU. */
struct off_per_cpu {
  __u64 counters[OFF_COUNTERS];
  __u64 task; /* the address of the thread that arrived last */
  __u64 due;  /* whether the program must check that thread when it resumes */
};

#endif
