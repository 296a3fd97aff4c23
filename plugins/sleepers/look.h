/* What the program writes of a thread that sleeps, or that tells that its process is there; shared
 * with its reader. Made anew with each build, so it may change at will. */
#ifndef CTPROF_SLEEPERS_LOOK_H
#define CTPROF_SLEEPERS_LOOK_H

enum {
  LOOK_MOST_FRAMES = 127,
  /* Of the array of addresses: a power of two, so that verifiers see that there is room. */
  LOOK_ADDRESSES = 128,
  /* That are requested, and followed, at a time. */
  LOOK_MOST_PROCESSES = 1 << 18
};

enum {
  LOOK_AGAIN = 1,  /* it has not run since it was written last in this round: the head is all */
  LOOK_KERNEL = 2, /* it has no user part: a thread of the kernel */
  LOOK_32_BIT = 4, /* its registers are of no use to us */
  LOOK_AWAKE = 8,  /* a process whose leader does not sleep: the head is all */
  LOOK_CLOSED = 16 /* it sleeps, and the user may not see its stack: the head is all */
};

struct look_head {
  unsigned int size; /* of the record, this included: a multiple of 8 */
  unsigned int flags;
  unsigned int tid;
  unsigned int tgid;
  unsigned long long start_boottime;
};

struct look {
  struct look_head head;
  unsigned long long switches;
  /* Where one of these is another, the process may have mapped other code. */
  unsigned long long memory;
  unsigned long long code_pages;
  unsigned long long execs;
  /* Where its stack may begin. */
  unsigned long long start_stack;
  unsigned long long thread_pointer;
  unsigned long long ip, sp, bp, lr;
  unsigned int frames;
  unsigned int state;
  /* As many as `frames` are written. */
  unsigned long long kernel[LOOK_ADDRESSES];
};

#define LOOK_FIXED (sizeof(struct look) - LOOK_ADDRESSES * 8)

#endif
