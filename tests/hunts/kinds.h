/* The parts that troubles.c and waiters.c share: threads, and a main() for programs of several
 * kinds, which read commands:
 *
 *   PROGRAM KIND NAME [FILE]
 *
 * Prints "ready" after the start. For each line from standard input, performs the action of the
 * kind and prints "done". Exits at the end of standard input. NAME becomes the name of the process.
 */
#ifndef CTPROF_TESTS_HUNTS_KINDS_H
#define CTPROF_TESTS_HUNTS_KINDS_H

#include <pthread.h>
#include <stdatomic.h>

struct kind {
  const char* name;
  void (*begin)(void); /* before "ready" */
  void (*act)(void);   /* for each line */
};

extern const char* path;       /* the argument FILE, or NULL */
extern atomic_int has_trouble; /* whether a line was read */

void check(int is_ok, const char* what); /* prints `what` with errno, and exits, if not ok */
pthread_t start(void* (*body)(void*), void* argument);
void do_nothing(void);

/* Each list ends with an entry without a name; `lists` ends with NULL. */
int run_kind(const struct kind* const* lists, const char* usage, int count, char** arguments);

#endif
