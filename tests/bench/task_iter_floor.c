/* The minimal cost of a BPF pass over the threads: reads the records of task-iter and discards
 * them.
 *
 * Prints {"load_ns": …, "pass_ns": …, "records": …}.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plugins/task-iter/record.h"
#include "plugins/task-iter/skeleton.h"

enum { kBufferBytes = 64 * 1024 };

static void fail(const char* action, int error) {
  fprintf(stderr, "task_iter_floor: %s: %s\n", action, strerror(error));
  exit(1);
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(void) {
  int error = 0;
  const unsigned words = (unsigned)((sysconf(_SC_NPROCESSORS_CONF) + 63) / 64);
  const uint64_t start = now_ns();
  struct task_iter_skeleton* program = task_iter_skeleton_load(&error);
  if (!program) fail("loading the program", error);
  const uint64_t loaded = now_ns();
  static char buffer[kBufferBytes];
  const int records = task_iter_skeleton_begin(program, 0, words);
  if (records < 0) fail("starting a pass", 0);
  uint64_t bytes = 0;
  for (ssize_t size; (size = read(records, buffer, sizeof buffer)) > 0;) bytes += (uint64_t)size;
  const uint64_t end = now_ns();
  close(records);
  task_iter_skeleton_unload(program);
  printf("{\"load_ns\": %llu, \"pass_ns\": %llu, \"records\": %llu}\n",
         (unsigned long long)(loaded - start), (unsigned long long)(end - loaded),
         (unsigned long long)(bytes / (RECORD_FIXED + words * 8)));
  return 0;
}
