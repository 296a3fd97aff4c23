/* The record of a sleeping thread, or of a process without sleeping leader; shared by the program
 * and its reader. Both are built together, so the layout may change. */
#ifndef CTPROF_SLEEPERS_SLEEPER_SAMPLE_H
#define CTPROF_SLEEPERS_SLEEPER_SAMPLE_H

enum {
  SAMPLE_MAX_FRAMES = 127,
  /* Size of the array of addresses: a power of two, which proves to verifiers that indices are in
   * range. */
  SAMPLE_ADDRESSES = 128,
  /* Limit of requested and followed processes. */
  SAMPLE_MAX_PROCESSES = 1 << 18
};

enum {
  SAMPLE_UNCHANGED =
      1, /* it has not run since it was written in this round: only the head is written */
  SAMPLE_KERNEL_THREAD = 2, /* it has no user part: a kernel thread */
  SAMPLE_32_BIT = 4,        /* its registers are unusable */
  SAMPLE_AWAKE = 8,         /* a process whose leader does not sleep: only the head is written */
  SAMPLE_HIDDEN = 16 /* it sleeps, and the user may not see its stack: only the head is written */
};

struct sleeper_sample_head {
  unsigned int size; /* of the record, including the head: a multiple of 8 */
  unsigned int flags;
  unsigned int tid;
  unsigned int tgid;
  unsigned long long start_boottime;
};

struct sleeper_sample {
  struct sleeper_sample_head head;
  unsigned long long switches;
  /* If one of these changed, the process may have mapped other code. */
  unsigned long long memory;
  unsigned long long code_pages;
  unsigned long long execs;
  /* Possible bases of the stack. */
  unsigned long long start_stack;
  unsigned long long thread_pointer;
  unsigned long long ip, sp, bp, lr;
  unsigned int frames;
  unsigned int state;
  /* Only the first `frames` elements are written. */
  unsigned long long kernel[SAMPLE_ADDRESSES];
};

#define SAMPLE_FIXED_BYTES (sizeof(struct sleeper_sample) - SAMPLE_ADDRESSES * 8)

#endif
