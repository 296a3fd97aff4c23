/* shares: a program whose functions use specified shares of its CPU time.
 *
 * `shares SECONDS SEVENTY TWENTY TEN [INLINED]` uses these milliseconds of CPU time per 100 ms in
 *
 * - seventy(), in the main thread;
 * - twenty(), in a library that is opened for the call and closed again ($SHARES_LIBRARY);
 * - ten(), in a thread that exits afterwards;
 * - inlined(), in around().
 */
#define _GNU_SOURCE
#include "shares.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const uint64_t kMs = 1000 * 1000;

struct plan {
  uint64_t seventy, twenty, ten, inlined;
};

static __attribute__((noinline)) void seventy(uint64_t ns) { SPEND(ns); }

static __attribute__((noinline)) void* ten(void* ns) {
  SPEND(*(const uint64_t*)ns);
  return NULL;
}

static inline __attribute__((always_inline)) void inlined(uint64_t ns) { SPEND(ns); }

static __attribute__((noinline)) void around(uint64_t ns) {
  inlined(ns);
  __asm__ volatile("");
}

static void fail(const char* reason) {
  fprintf(stderr, "shares: %s\n", reason);
  exit(1);
}

static void spend_in_library(uint64_t ns) {
  void* const library = dlopen(getenv("SHARES_LIBRARY"), RTLD_NOW);
  if (!library) fail(dlerror());
  void (*twenty)(uint64_t) = NULL;
  *(void**)&twenty = dlsym(library, "twenty");
  twenty(ns);
  dlclose(library);
}

static void spend_in_thread(uint64_t ns) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, ten, &ns) != 0) fail("no thread");
  pthread_join(thread, NULL);
}

static void run_cycle(const struct plan* plan) {
  seventy(plan->seventy);
  spend_in_library(plan->twenty);
  spend_in_thread(plan->ten);
  around(plan->inlined);
}

static uint64_t parse_ms(const char* text) { return strtoull(text, NULL, 10) * kMs; }

int main(int count, char** arguments) {
  if (count < 5) fail("usage: shares SECONDS SEVENTY TWENTY TEN [INLINED]");
  const struct plan plan = {parse_ms(arguments[2]), parse_ms(arguments[3]), parse_ms(arguments[4]),
                            count > 5 ? parse_ms(arguments[5]) : 0};
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (int cycles = atoi(arguments[1]) * 10; cycles > 0; --cycles) {
    run_cycle(&plan);
    next.tv_nsec += (long)(100 * kMs);
    next.tv_sec += next.tv_nsec / 1000000000;
    next.tv_nsec %= 1000000000;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
  }
  return 0;
}
