/* Two processes on one CPU that pass each other a byte, like `perf bench sched pipe`.
 *
 *   switches BATCHES CPU
 *
 * A batch is 300 rounds of two switches. Prints the CPU time of both processes per switch: the 10th
 * percentile of the batches, the median, and the mean:
 * {"low_ns": N, "middle_ns": N, "mean_ns": N}
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kRounds = 300 };

static double cpu_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void pass(int from, int to, long rounds) {
  char byte;
  for (long i = 0; i < rounds; ++i)
    if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1) abort();
}

static int is_less(const void* a, const void* b) {
  const double left = *(const double*)a, right = *(const double*)b;
  return (left > right) - (left < right);
}

int main(int argc, char** argv) {
  const long batches = argc > 2 ? atol(argv[1]) : 0;
  double* each = batches > 0 ? malloc((size_t)batches * sizeof *each) : NULL;
  int there[2], back[2];
  cpu_set_t set;
  if (!each || pipe(there) != 0 || pipe(back) != 0) return 2;
  CPU_ZERO(&set);
  CPU_SET(atoi(argv[2]), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) return 1;
  const pid_t other = fork();
  if (other == 0) {
    pass(there[0], back[1], batches * kRounds);
    _exit(0);
  }
  clockid_t others;
  if (other < 0 || clock_getcpuclockid(other, &others) != 0) return 1;
  /* Between batches the other process waits or is about to, so its CPU clock rarely advances. */
  double before = 0, sum = 0;
  for (long batch = 0; batch <= batches; ++batch) {
    const double now = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) + cpu_ns(others);
    if (batch > 0) sum += each[batch - 1] = (now - before) / (2.0 * kRounds);
    before = now;
    if (batch == batches) break;
    char byte;
    for (int i = 0; i < kRounds; ++i)
      if (write(there[1], "x", 1) != 1 || read(back[0], &byte, 1) != 1) return 1;
  }
  wait(NULL);
  qsort(each, (size_t)batches, sizeof *each, is_less);
  printf("{\"low_ns\": %.1f, \"middle_ns\": %.1f, \"mean_ns\": %.1f}\n", each[batches / 10],
         each[batches / 2], sum / (double)batches);
  return 0;
}
