/* The parts that troubles.c and waiters.c share: threads, and a main() for programs of several
 * kinds, which read commands:
 *
 *   PROGRAM KIND NAME ...
 *
 * Prints "ready" after the start. For each line from standard input, performs the action of the
 * kind and prints "done". Exits at the end of standard input. NAME becomes the name of the process.
 */
#pragma once

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct kind {
  const char* name;
  void (*begin)(void); /* before "ready" */
  void (*act)(void);   /* for each line */
};

static void check(int is_ok, const char* what) {
  if (is_ok) return;
  perror(what);
  _exit(1);
}

static pthread_t start(void* (*body)(void*), void* argument) {
  pthread_t thread;
  check(pthread_create(&thread, NULL, body, argument) == 0, "pthread_create");
  return thread;
}

static void do_nothing(void) {}

static void print_line(const char* line) {
  puts(line);
  fflush(stdout);
}

/* `kinds` ends with an entry without a name. */
static int run_kind(const struct kind* kinds, const char* usage, int count, char** arguments) {
  char line[64];
  const struct kind* kind = kinds;
  while (kind->name && (count < 3 || strcmp(kind->name, arguments[1]) != 0)) ++kind;
  if (!kind->name) {
    fprintf(stderr, "usage: %s\n", usage);
    return 2;
  }
  prctl(PR_SET_NAME, arguments[2]);
  kind->begin();
  print_line("ready");
  while (fgets(line, sizeof line, stdin)) {
    kind->act();
    print_line("done");
  }
  _exit(0);
}
