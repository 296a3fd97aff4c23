/* The threads to sample again, and the result; shared with the reader. */
#ifndef CTPROF_SLEEPERS_RECHECK_H
#define CTPROF_SLEEPERS_RECHECK_H

#include "look.h"

enum { RECHECK_MOST = 64 };

enum {
  RECHECK_GONE = 0,  /* it runs, or has exited */
  RECHECK_SAME = 1,  /* it has not run since */
  RECHECK_AGAIN = 2, /* it ran, and sleeps again: `look` is the new sample */
};

struct rechecked {
  unsigned int tid;
  unsigned int found; /* set by the program, like `look` */
  unsigned long long switches;
  unsigned long long start_boottime;
  struct look look;
};

#endif
