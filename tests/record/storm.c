// Creates THREADS threads that exit immediately, at a steady rate.
//
//   storm THREADS PER_SECOND
//
// Two threads create them and join each. At the end it prints a line: the number of threads, and
// the duration in milliseconds. Exits with 1 if the machine cannot create more threads.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kMakers = 2 };
static const long long kNsPerSecond = 1000000000;

struct maker {
  pthread_t thread;
  long long threads;
  long long ns_per_thread;
  int failed;
};

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

static void wait_until(long long ns) {
  const struct timespec until = {ns / kNsPerSecond, ns % kNsPerSecond};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void* exit_immediately(void* unused) { return unused; }

// Creates threads. Sleeps only if a millisecond or more is left, so that the average rate is exact.
static void* create_threads(void* argument) {
  struct maker* maker = argument;
  const long long start = now_ns();
  for (long long made = 0; made < maker->threads && !maker->failed; ++made) {
    pthread_t thread;
    const long long due_ns = start + made * maker->ns_per_thread;
    if (due_ns - now_ns() > kNsPerSecond / 1000) wait_until(due_ns);
    maker->failed =
        pthread_create(&thread, NULL, exit_immediately, NULL) || pthread_join(thread, NULL);
  }
  return NULL;
}

int main(int count, char** arguments) {
  struct maker makers[kMakers] = {0};
  const long long start = now_ns();
  int failed = count != 3;
  if (failed) return 2;
  for (int i = 0; i < kMakers; ++i) {
    makers[i].threads = atoll(arguments[1]) / kMakers;
    makers[i].ns_per_thread = kNsPerSecond * kMakers / atoll(arguments[2]);
    failed |= pthread_create(&makers[i].thread, NULL, create_threads, &makers[i]);
  }
  for (int i = 0; i < kMakers && !failed; ++i) {
    pthread_join(makers[i].thread, NULL);
    failed |= makers[i].failed;
  }
  printf("%lld %lld\n", makers[0].threads * kMakers + kMakers, (now_ns() - start) / 1000000);
  return failed;
}
