// A thread other than the leader executes another program (this one again), which replaces its
// process.
//
//   takeover         the thread uses 30 ms of CPU time before the exec, and 20 ms after it as the
//                    process; the leader uses none
//   takeover naps    it sleeps 100 times for 1 ms before the exec, and 50 times after it; a third
//                    thread waits all the time
//
// Prints the process's id.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char* own_path;
static int uses_naps;

static void spin(long ms) {
  struct timespec now;
  const long start =
      (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), now.tv_sec * 1000 + now.tv_nsec / 1000000);
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while (now.tv_sec * 1000 + now.tv_nsec / 1000000 - start < ms);
}

// The test finds this frame by name. The counts are volatile, so that the compiler does not create
// a specialised copy of the function.
static volatile int naps_before = 100, naps_after = 50;
__attribute__((noinline)) static void nap(int times) {
  for (int i = 0; i < times; ++i) nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void* wait_forever(void* unused) {
  pause();
  return unused;
}

static void* take_over(void* unused) {
  char* exec_arguments[] = {own_path, "again", uses_naps ? "naps" : NULL, NULL};
  uses_naps ? nap(naps_before) : spin(30);
  execv(own_path, exec_arguments);
  return unused;
}

int main(int count, char** arguments) {
  pthread_t thread, waiting;
  own_path = arguments[0];
  uses_naps = count > 1 && strcmp(arguments[count - 1], "naps") == 0;
  if (count > 1 && strcmp(arguments[1], "again") == 0) {
    uses_naps ? nap(naps_after) : spin(20);
    return 0;
  }
  printf("%d\n", (int)getpid());
  fflush(stdout);
  if (uses_naps && pthread_create(&waiting, NULL, wait_forever, NULL)) return 1;
  if (pthread_create(&thread, NULL, take_over, NULL)) return 1;
  return pthread_join(thread, NULL);
}
