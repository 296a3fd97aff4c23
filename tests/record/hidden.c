/* A program whose function names must be visible only to users who may read its file. It computes
 * or waits in one of these functions.
 *
 *   hidden spin|wait|undumpable [PROGRAM ARGUMENT]
 *
 * With PROGRAM it computes for 0.2 s and then executes PROGRAM. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noinline, used)) void secret_function_that_computes(double seconds) {
  for (const double end = now() + seconds; now() < end;)
    for (volatile int i = 0; i < 100000; ++i) continue;
}

/* Wakes up often, so that recorders of waits observe it. */
__attribute__((noinline, used)) void secret_function_that_waits(void) {
  for (;;) usleep(2000);
}

int main(int count, char** arguments) {
  if (count < 2) return 2;
  alarm(120);
  puts("ready");
  fflush(stdout);
  if (count > 3) {
    secret_function_that_computes(0.2);
    execl(arguments[2], arguments[2], arguments[3], (char*)0);
    return 1;
  }
  if (strcmp(arguments[1], "undumpable") == 0) prctl(PR_SET_DUMPABLE, 0);
  if (strcmp(arguments[1], "wait") == 0) secret_function_that_waits();
  secret_function_that_computes(120);
}
