/* waiters: programs whose threads wait often and briefly, without contention for a lock. A finding
 * about a lock would name a false cause.
 *
 *   waiters KIND NAME
 *
 * Prints "ready" after the start. After a line from standard input, the threads begin to wait, and
 * the program prints "done". Exits at the end of standard input. NAME becomes the name of the
 * process. Each kind has two threads that wait for less than a millisecond each time:
 *
 *   naps     for time to pass (clock_nanosleep)
 *   polls    for input that does not arrive, until a timeout (ppoll)
 *   pipes    for each other: the threads exchange bytes through two pipes
 *   pool     for work (pthread_cond_wait); a third thread provides it periodically
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "kinds.h"

enum { kThreads = 2 };
static const struct timespec kPause = {.tv_nsec = 300 * 1000};

static void* take_naps(void* unused) {
  for (;;) clock_nanosleep(CLOCK_MONOTONIC, 0, &kPause, NULL);
  return unused;
}

static void* poll_with_timeout(void* unused) {
  for (;;) ppoll(NULL, 0, &kPause, NULL);
  return unused;
}

static int pipes[kThreads][2];

/* Reads a byte from its own pipe and writes one to the pipe of the other thread. */
static void* exchange_bytes(void* number) {
  const int own = number != NULL;
  char byte = 0;
  for (;;) {
    check(read(pipes[own][0], &byte, 1) == 1, "read");
    check(write(pipes[!own][1], &byte, 1) == 1, "write");
  }
  return number;
}

static void start_exchange(void) {
  static char second;
  for (int i = 0; i < kThreads; ++i) check(pipe(pipes[i]) == 0, "pipe");
  start(exchange_bytes, NULL);
  start(exchange_bytes, &second);
  check(write(pipes[0][1], "x", 1) == 1, "write");
}

static pthread_mutex_t work_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static uint64_t provided_work;

static void* wait_for_work(void* unused) {
  uint64_t done = 0;
  for (;;) {
    pthread_mutex_lock(&work_lock);
    while (done == provided_work) pthread_cond_wait(&has_work, &work_lock);
    done = provided_work;
    pthread_mutex_unlock(&work_lock);
  }
  return unused;
}

/* Signals after unlocking, so that no worker waits for the lock. */
static void* provide_work(void* unused) {
  for (;;) {
    clock_nanosleep(CLOCK_MONOTONIC, 0, &kPause, NULL);
    pthread_mutex_lock(&work_lock);
    ++provided_work;
    pthread_mutex_unlock(&work_lock);
    pthread_cond_broadcast(&has_work);
  }
  return unused;
}

static void start_naps(void) {
  for (int i = 0; i < kThreads; ++i) start(take_naps, NULL);
}

static void start_polls(void) {
  for (int i = 0; i < kThreads; ++i) start(poll_with_timeout, NULL);
}

static void start_pool(void) {
  for (int i = 0; i < kThreads; ++i) start(wait_for_work, NULL);
  start(provide_work, NULL);
}

static const struct kind kinds[] = {{"naps", do_nothing, start_naps},
                                    {"polls", do_nothing, start_polls},
                                    {"pipes", do_nothing, start_exchange},
                                    {"pool", do_nothing, start_pool},
                                    {NULL, NULL, NULL}};

int main(int count, char** arguments) {
  const struct kind* const lists[] = {kinds, NULL};
  return run_kind(lists, "waiters KIND NAME", count, arguments);
}
