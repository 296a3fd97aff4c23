/* churn: starts RATE short threads per second until standard input ends.
 *
 * churn RATE prints "ready" at the start, and "N threads in S s" at the end. A thread lives for up
 * to eight milliseconds, so that at any time some threads exit between being listed and being read.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const long kSecond = 1000L * 1000L * 1000L;
enum { kStack = 64 * 1024, kLifetimes = 8 };

static void* run_thread(void* argument) {
  const struct timespec life = {.tv_nsec = (long)(intptr_t)argument * 1000L * 1000L};
  nanosleep(&life, NULL);
  return NULL;
}

static double seconds_between(const struct timespec* from, const struct timespec* to) {
  return (double)(to->tv_sec - from->tv_sec) +
         (double)(to->tv_nsec - from->tv_nsec) / (double)kSecond;
}

static int input_has_ended(void) {
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  char byte;
  return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

/* Waits until the next start is due. Does not wait if that time has already passed. */
static void wait_for_next_start(struct timespec* next_start, long pause) {
  next_start->tv_nsec += pause;
  if (next_start->tv_nsec >= kSecond) {
    next_start->tv_nsec -= kSecond;
    ++next_start->tv_sec;
  }
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next_start, NULL);
}

int main(int count, char** arguments) {
  const long rate = count == 2 ? strtol(arguments[1], NULL, 10) : 0;
  if (rate <= 0 || rate > kSecond) {
    fputs("usage: churn RATE\n", stderr);
    return 2;
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStack);

  struct timespec start, next_start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  next_start = start;
  puts("ready");
  fflush(stdout);
  long started = 0;
  while (!input_has_ended()) {
    pthread_t thread;
    const int error =
        pthread_create(&thread, &attributes, run_thread, (void*)(intptr_t)(started % kLifetimes));
    if (error != 0) {
      fprintf(stderr, "churn: pthread_create: %s\n", strerror(error));
      return 1;
    }
    ++started;
    wait_for_next_start(&next_start, kSecond / rate);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("%ld threads in %.3f s\n", started, seconds_between(&start, &end));
  return 0;
}
