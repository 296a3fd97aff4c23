/* where: prints the distances of this thread's two counters from the thread pointer, as jemalloc
 * reports them, and sleeps.
 *
 * MALLCTL is the name of the entry point in this build. With PRELOADED it is looked up at run time;
 * the first argument then names a library to open.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int Mallctl(const char*, void*, size_t*, void*, size_t);

#ifdef PRELOADED
static Mallctl* entry(const char* library) {
  void* const handle = library != NULL ? dlopen(library, RTLD_NOW) : RTLD_DEFAULT;
  void* const found = dlsym(handle, "mallctl");
  Mallctl* function = NULL;
  memcpy(&function, &found, sizeof function); /* ISO C forbids the cast */
  return function;
}
#else
#ifndef MALLCTL
#define MALLCTL mallctl
#endif
int MALLCTL(const char*, void*, size_t*, void*, size_t);
static Mallctl* entry(const char* library) { return library == NULL ? MALLCTL : NULL; }
#endif

static long distance(Mallctl* function, const char* name) {
  uint64_t* place = NULL;
  size_t size = sizeof place;
  if (function == NULL || function(name, &place, &size, NULL, 0) != 0) return 0;
  return (long)((intptr_t)place - (intptr_t)__builtin_thread_pointer());
}

int main(int count, char** words) {
  Mallctl* const function = entry(count > 1 ? words[1] : NULL);
  printf("%ld %ld\n", distance(function, "thread.allocatedp"),
         distance(function, "thread.deallocatedp"));
  fflush(stdout);
  pause();
  return 0;
}
