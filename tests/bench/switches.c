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

static void pass_bytes(int from, int to, long rounds) {
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
  double* batch_ns = batches > 0 ? malloc((size_t)batches * sizeof *batch_ns) : NULL;
  int to_child[2], from_child[2];
  cpu_set_t set;
  if (!batch_ns || pipe(to_child) != 0 || pipe(from_child) != 0) return 2;
  CPU_ZERO(&set);
  CPU_SET(atoi(argv[2]), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    pass_bytes(to_child[0], from_child[1], batches * kRounds);
    _exit(0);
  }
  clockid_t child_clock;
  if (child < 0 || clock_getcpuclockid(child, &child_clock) != 0) return 1;
  /* Between batches the other process waits or is about to, so its CPU clock rarely advances. */
  double before = 0, sum = 0;
  for (long batch = 0; batch <= batches; ++batch) {
    const double now = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) + cpu_ns(child_clock);
    if (batch > 0) sum += batch_ns[batch - 1] = (now - before) / (2.0 * kRounds);
    before = now;
    if (batch == batches) break;
    char byte;
    for (int i = 0; i < kRounds; ++i)
      if (write(to_child[1], "x", 1) != 1 || read(from_child[0], &byte, 1) != 1) return 1;
  }
  wait(NULL);
  qsort(batch_ns, (size_t)batches, sizeof *batch_ns, is_less);
  printf("{\"low_ns\": %.1f, \"middle_ns\": %.1f, \"mean_ns\": %.1f}\n", batch_ns[batches / 10],
         batch_ns[batches / 2], sum / (double)batches);
  return 0;
}
