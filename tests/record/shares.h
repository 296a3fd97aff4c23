/* How functions of `shares` use CPU time. */
#ifndef SHARES_H
#define SHARES_H

#include <stdint.h>
#include <time.h>

static inline uint64_t cpu_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Runs in the calling function itself for `ns`. Reading the clock takes a hundredth of that time.
 */
#define SPEND(ns)                                                 \
  for (const uint64_t until = cpu_ns() + (ns); cpu_ns() < until;) \
    for (int i = 0; i < 100000; ++i) __asm__ volatile("")

#endif
