/* The threads to sample again, and the result; shared with the reader. */
#ifndef CTPROF_SLEEPERS_RECHECK_H
#define CTPROF_SLEEPERS_RECHECK_H

#include "sleeper_sample.h"

enum { RECHECK_MAX_THREADS = 64 };

enum {
  RECHECK_NOT_ASLEEP = 0,   /* it runs, or has exited */
  RECHECK_UNCHANGED = 1,    /* it has not run since */
  RECHECK_ASLEEP_AGAIN = 2, /* it ran, and sleeps again: `sample` is the new sample */
};

struct recheck_entry {
  unsigned int tid;
  unsigned int result; /* set by the program, like `sample` */
  unsigned long long switches;
  unsigned long long start_boottime;
  struct sleeper_sample sample;
};

#endif
