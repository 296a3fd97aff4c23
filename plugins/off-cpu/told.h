/* What the programs and their reader share: what is known of a thread, what they write, and what
 * the reader sets. */
#ifndef CTPROF_OFF_CPU_TOLD_H
#define CTPROF_OFF_CPU_TOLD_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "plugins/shared/walk_tables.h"

/* What a thread does. The kinds of waiting come first, and number the sums of them. */
enum off_state {
  OFF_SLEEPS = 0,    /* blocked, interruptible: asleep, idle, stopped */
  OFF_BLOCKED = 1,   /* blocked, uninterruptible: a disk, a lock in the kernel */
  OFF_QUEUED = 2,    /* woken up, or new, and waiting for a CPU */
  OFF_PREEMPTED = 3, /* made to wait for a CPU while it ran, or gave way to others */
  OFF_KINDS = 4,
  OFF_RUNS = 4,
  OFF_STATES = 5,
  OFF_UNKNOWN = 6,
  OFF_ENDED = 7
};

/* What happened to one thread in one window. Times add up to the window, or to what of it the
 * thread was there. */
struct off_sums {
  __u64 ns[OFF_STATES];
  __u32 counts[OFF_KINDS];
  __u32 waits; /* from leaving a CPU to being back on one; a part of one at an edge is one */
  __u32 odd;   /* events that do not fit to what was known */
  __u64 longest;
  __u64 shortest; /* 0: there was no wait */
};

/* The name that a thread was first known by. It has another one once it takes its leader's place by
 * exec: the leader's, who had it before. This one is of no other thread. */
struct off_origin {
  __u64 start_boottime;
  __u32 tid;
  __u32 unused;
};

/* What is kept of a thread while it lives. */
struct off_thread {
  __u32 state;
  __u32 window;  /* that the sums are of; 0: before the first */
  __u32 version; /* odd while it is being changed */
  __u32 events;
  __u64 since;     /* when the state began, or the window, if that was later */
  __u64 away;      /* likewise, when it left the CPU */
  __u64 arrived;   /* when it was given its CPU, and ...; 0: not known */
  __u64 ran;       /* ... for how long it had run by then, by the kernel's account */
  __u64 carried;   /* waiting that no stack was charged for, since the last one */
  __u64 until;     /* how much of it until the next stack */
  __u64 charge;    /* what is charged to the stack that is due */
  __u64 uncharged; /* of the wait that goes on: what is over of it, and a stack may be charged */
  __u64 born;      /* 0: before the first window */
  __u32 seen;      /* `events` as the first look at all threads found it */
  __u32 unused;
  struct off_origin origin;
  struct off_sums sums[2]; /* of this window and of the last: by the lowest bit of the number */
};

enum off_kind {
  OFF_STACK = 1,        /* a wait is over: struct off_stack */
  OFF_END = 2,          /* a thread ended: struct off_end */
  OFF_FORK = 3,         /* a process was born: struct off_process */
  OFF_EXEC = 4,         /* a process runs another program: the same, without a parent */
  OFF_WALKED_STACK = 5, /* as OFF_STACK, with frames of user space in place of a copy */
  OFF_MISS = 6          /* code of a file that no unwind table describes yet: struct off_miss */
};

/* Who it is. */
struct off_who {
  __u32 tgid;
  __u32 tid;
  __u64 start_boottime;
};

/* Frames of the kernel's part, and of a walked user part unless more are requested. */
enum { OFF_FRAMES = 127, OFF_PIECE = 1024, OFF_PIECES = 4 };

/* The kernel's part of a stack, and what user space had in its registers. */
struct off_place {
  __u64 memory; /* which address space it is, and how much code it has: not the same, mapped anew */
  __u64 code;
  __u64 ip, sp, bp, lr;
  __u32 has_user; /* ... registers that we can use */
  __s32 kernel_bytes;
  __u64 kernel[OFF_FRAMES];
};

/* The user's stack is copied from the start of a piece on, which `place.sp` is in. Of
 * OFF_WALKED_STACK there are frames in `user` (walk_state.h): `pieces` is their number, and
 * `unused` is 1 where some are missing at the root. Up to OFF_FRAMES, the record ends behind them.
 */
struct off_stack {
  __u32 kind;
  __u32 window;
  struct off_who who;
  __u64 at; /* CLOCK_MONOTONIC, as all times here */
  __u64 weight;
  struct off_origin origin;
  struct off_place place;
  __u32 pieces;
  __u32 unused;
  __u8 user[OFF_PIECES * OFF_PIECE];
};

#define OFF_STACK_WITHOUT_USER __builtin_offsetof(struct off_stack, user)

#define OFF_WALKED_BYTES (OFF_STACK_WITHOUT_USER + 8 * (OFF_FRAMES + 1))

struct off_miss {
  __u32 kind;
  __u32 tgid; /* that has it mapped */
  struct walk_miss miss;
};

struct off_end {
  __u32 kind;
  __u32 unused;
  struct off_who who;
  __u64 at;
  struct off_thread thread;
};

struct off_process {
  __u32 kind;
  __u32 tgid;
  __u32 parent;
  __u32 unused;
  __u64 at;
};

/* What a look at all threads writes of each. */
struct off_look {
  struct off_who who;
  struct off_thread thread;
  struct off_place place; /* with as many of `kernel` as there are bytes; none unless it waits */
};

/* Whether anything happened to a thread since. */
struct off_check {
  struct off_who who;
  __u64 events;
};

/* What a look at all threads is for. */
enum off_look_for {
  OFF_FIRST_LOOK = 0,  /* make room for what is known of a thread, and see what it does */
  OFF_SECOND_LOOK = 1, /* see what those do of whom there was no event since then */
  OFF_COLLECT = 2,     /* write it all: struct off_look */
  OFF_CHECK = 3,       /* who it is, and the number of events: struct off_check */
  OFF_ADOPT = 4,       /* follow from now on who is wanted, and is not followed */
  OFF_MEET = 5         /* tell of each process, wanted or not: struct off_check, without events */
};

enum { OFF_WINDOWS = 4 };

/* Counted on each CPU. */
enum off_counter {
  OFF_SWITCHES = 0,
  OFF_WAKEUPS = 1,
  OFF_RESUMES = 2, /* stacks that were due */
  OFF_LOST_STACKS = 3,
  OFF_LOST_ENDS = 4,
  OFF_LOST_CHANGES = 5,    /* births and programs of processes */
  OFF_UNKNOWN_THREADS = 6, /* for which there was no memory */
  OFF_MOVES = 7,           /* of processes with several threads, into a cgroup that is wanted */
  OFF_COUNTERS = 8
};

/* Of one CPU. */
struct off_cpu_state {
  __u64 counters[OFF_COUNTERS];
  __u64 task; /* the address of the thread that was seen to arrive last, and ... */
  __u64 due;  /* ... whether it is of interest as it resumes */
};

#endif
