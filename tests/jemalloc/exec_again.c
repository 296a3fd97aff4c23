/* exec_again: a program that replaces itself endlessly, from each of its threads in turn.
 *
 *   exec_again LIBRARY OTHER
 *
 * Alternately executes OTHER without LIBRARY, and itself with LIBRARY (jemalloc) preloaded. LIBRARY
 * may be "".
 *
 * OTHER is this program built with JUNK: in place of jemalloc's counters it has bytes that cannot
 * be valid counts. Each program starts kThreads threads, which allocate exactly kBytes each under
 * jemalloc. Then one of the threads, or the main thread, calls execv. Each program writes a byte to
 * standard output, and exits if it cannot.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { kThreads = 8, kBytes = 20480 };

#ifdef JUNK
#define FOUR(byte) byte, byte, byte, byte
#define MANY(byte) FOUR(FOUR(FOUR(FOUR(FOUR(FOUR(byte))))))
static __thread volatile unsigned char junk[] = {
    MANY(0x5a)}; /* 4 KiB, directly below the thread pointer */
#else
static __thread volatile unsigned char junk[1];
#endif

static pthread_barrier_t allocation_barrier;
static char** arguments;
static const char* next_program; /* the next program */
static int replacer;             /* number of the thread that calls execv; 0: the main thread */

static void replace_program(void) {
  usleep(300);
  execv(next_program, arguments);
  perror("exec_again");
  _exit(2);
}

static void* run_thread(void* argument) {
  void* volatile block = malloc(kBytes);
  memset(block, junk[0], kBytes);
  pthread_barrier_wait(&allocation_barrier);
  if ((intptr_t)argument == replacer) replace_program();
  for (;;) pause();
  return NULL;
}

static void choose_next(void) {
  const char* const before = getenv("EXEC_AGAIN");
  const int round = before ? atoi(before) : 0;
  char number[16];
  snprintf(number, sizeof number, "%d", (round + 1) % 1000);
  setenv("EXEC_AGAIN", number, 1);
  replacer = round / 2 % (kThreads + 1);
  next_program = round % 2 == 0 ? arguments[2] : arguments[0];
  if (round % 2 == 1 && arguments[1][0])
    setenv("LD_PRELOAD", arguments[1], 1);
  else
    unsetenv("LD_PRELOAD");
}

int main(int argc, char** argv) {
  if (argc != 3) return fprintf(stderr, "usage: exec_again LIBRARY OTHER\n"), 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  arguments = argv;
  choose_next();
  if (pthread_barrier_init(&allocation_barrier, NULL, kThreads + 1) != 0) return 2;
  for (int i = 1; i <= kThreads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_thread, (void*)(intptr_t)i) != 0)
      return perror("exec_again"), 2;
  }
  if (write(STDOUT_FILENO, "x", 1) != 1) return 2;
  pthread_barrier_wait(&allocation_barrier);
  if (replacer == 0) replace_program();
  for (;;) pause();
}
