// A service with a fixed request rate, independent of its response time (open loop), whose requests
// can be made slower.
//
//   planted FILE
//
// FILE contains two factors, "WORK HOLD", and is read before each burst: `echo 1.2 1 > FILE` makes
// the work of a request 20 % longer, `echo 1 1.2 > FILE` makes the time that it holds the lock 20 %
// longer.
//
// Eight requests arrive together, 12.5 times per second; each is handled by a thread of its own. A
// request takes the lock, sleeps 5 ms while holding it, like a request that writes a log, releases
// it, and then works for 3 ms of CPU time. The total load is about 30 % of a CPU.

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kRequestsPerBurst = 8 };
static const long long kNsPerSecond = 1000000000;
static const long long kBurstPeriodNs = 80000000;
static const double kWorkNs = 3e6, kHoldNs = 5e6;

struct factors {
  double work, hold;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long long clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

static struct timespec to_timespec(long long ns) {
  return (struct timespec){ns / kNsPerSecond, ns % kNsPerSecond};
}

static void* handle_request(void* argument) {
  const struct factors factors = *(struct factors*)argument;
  free(argument);
  const struct timespec hold = to_timespec((long long)(kHoldNs * factors.hold));
  pthread_mutex_lock(&lock);
  nanosleep(&hold, NULL);
  pthread_mutex_unlock(&lock);
  const long long end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + (long long)(kWorkNs * factors.work);
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) continue;
  return NULL;
}

// A file that is being written may lack factors: the previous ones remain.
static void read_factors(const char* path, struct factors* factors) {
  struct factors new_factors;
  FILE* file = fopen(path, "r");
  if (!file) return;
  if (fscanf(file, "%lf %lf", &new_factors.work, &new_factors.hold) == 2) *factors = new_factors;
  fclose(file);
}

static int start_request(pthread_attr_t* attributes, struct factors factors) {
  pthread_t thread;
  struct factors* argument = malloc(sizeof *argument);
  if (!argument) return ENOMEM;
  *argument = factors;
  return pthread_create(&thread, attributes, handle_request, argument);
}

int main(int argc, char** argv) {
  if (argc != 2) return fprintf(stderr, "usage: planted FILE\n"), 2;
  struct factors factors = {1, 1};
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  for (long long start_ns = clock_ns(CLOCK_MONOTONIC);; start_ns += kBurstPeriodNs) {
    const struct timespec until = to_timespec(start_ns);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    read_factors(argv[1], &factors);
    for (int at = 0; at < kRequestsPerBurst; ++at)
      if (start_request(&detached, factors))
        return fprintf(stderr, "planted: cannot create a thread\n"), 1;
  }
}
