#include "kinds.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

const char* path;
atomic_int has_trouble;

void check(int is_ok, const char* what) {
  if (is_ok) return;
  perror(what);
  _exit(1);
}

pthread_t start(void* (*body)(void*), void* argument) {
  pthread_t thread;
  check(pthread_create(&thread, NULL, body, argument) == 0, "pthread_create");
  return thread;
}

void do_nothing(void) {}

static const struct kind* find_kind(const struct kind* const* lists, const char* name) {
  for (; *lists; ++lists)
    for (const struct kind* kind = *lists; kind->name; ++kind)
      if (strcmp(kind->name, name) == 0) return kind;
  return NULL;
}

static void print_line(const char* line) {
  puts(line);
  fflush(stdout);
}

int run_kind(const struct kind* const* lists, const char* usage, int count, char** arguments) {
  char line[64];
  const struct kind* kind = count >= 3 ? find_kind(lists, arguments[1]) : NULL;
  if (!kind) {
    fprintf(stderr, "usage: %s\n", usage);
    return 2;
  }
  path = count > 3 ? arguments[3] : NULL;
  prctl(PR_SET_NAME, arguments[2]);
  kind->begin();
  print_line("ready");
  while (fgets(line, sizeof line, stdin)) {
    atomic_store(&has_trouble, 1);
    kind->act();
    print_line("done");
  }
  _exit(0);
}
