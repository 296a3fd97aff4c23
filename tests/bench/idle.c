// idle: N threads that sleep, for measuring a capture of a known crowd.
//
//   idle processes N    N processes of one thread
//   idle threads N      one process of N threads (and its main thread)
//   idle twenty N       twenty processes that share N threads
//
// Prints "ready" on standard output when all of them sleep, and exits with them when standard input
// ends.

#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const size_t kStackBytes = 32 * 1024;

static int fail(const char* action, long number, int error) {
  fprintf(stderr, "idle: %s %ld: %s\n", action, number, strerror(error));
  return 2;
}

static void* sleep_forever(void* unused) {
  for (;;) pause();
  return unused;
}

static int start_threads(long count) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  for (long i = 0; i < count; i++) {
    pthread_t thread;
    const int error = pthread_create(&thread, &attributes, sleep_forever, NULL);
    if (error != 0) return fail("starting thread", i, error);
  }
  return 0;
}

// Starts processes with `threads` threads each. The pipe `ready` reports that they are complete.
static int start_processes(long count, long threads) {
  const pid_t parent = getpid();
  int ready[2];
  if (pipe(ready) != 0) return fail("making pipe", 1, errno);
  for (long i = 0; i < count; i++) {
    const pid_t child = fork();
    if (child < 0) return fail("starting process", i, errno);
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(0);
      if (start_threads(threads - 1) != 0 || write(ready[1], "", 1) != 1) _exit(2);
      sleep_forever(NULL);
    }
  }
  close(ready[1]);
  char byte;
  for (long i = 0; i < count; i++)
    if (read(ready[0], &byte, 1) != 1) return fail("waiting for process", i, errno);
  return 0;
}

int main(int argc, char** argv) {
  const long count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
  const int has_one_process = argc == 3 && strcmp(argv[1], "threads") == 0;
  const int has_twenty_processes = argc == 3 && strcmp(argv[1], "twenty") == 0;
  if (count <= 0 ||
      !(has_one_process || has_twenty_processes || (argc == 3 && !strcmp(argv[1], "processes")))) {
    fprintf(stderr, "usage: idle processes|threads|twenty N\n");
    return 2;
  }
  const int status = has_one_process        ? start_threads(count)
                     : has_twenty_processes ? start_processes(20, count / 20)
                                            : start_processes(count, 1);
  if (status != 0) return status;
  usleep(100 * 1000);  // the last ones have not yet gone to sleep
  puts("ready");
  fflush(stdout);
  char unused;
  while (read(STDIN_FILENO, &unused, 1) > 0) {
  }
  return 0;  // processes are killed when their parent exits, threads with their process
}
