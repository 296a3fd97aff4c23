// Spins in a function with the name WORK for some seconds, with its code mapped in an unusual way.
//
//   mapped SECONDS            ordinary mapping
//   mapped SECONDS leader     in a second thread of a process whose main thread has exited
//   mapped SECONDS copied     in code that was copied to anonymous memory at its own addresses
//
// Prints a line when it starts to spin.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static double end;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noinline)) void WORK(volatile unsigned* count) {
  for (int i = 0; i < 500000; ++i) ++*count;
}

__attribute__((noinline)) static void* spin(void* unused) {
  volatile unsigned count = 0;
  if (write(1, "spins\n", 6) != 6) exit(2);
  while (now() < end) WORK(&count);
  exit(0);
  return unused;
}

// Copies the code to anonymous memory, as programs do that use huge pages for it.
static int copy_code(void) {
  uintptr_t from = 0, to = 0, start, stop;
  char line[512], permissions[8];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx %7s", &start, &stop, permissions) == 3 && permissions[2] == 'x' &&
        start <= (uintptr_t)&WORK && (uintptr_t)&WORK < stop)
      from = start, to = stop;
  if (!maps || fclose(maps) != 0 || from == 0) return 1;
  void* copy = mmap(0, to - from, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return 1;
  memcpy(copy, (void*)from, to - from);
  if (mprotect(copy, to - from, PROT_READ | PROT_EXEC) != 0) return 1;
  return mremap(copy, to - from, to - from, MREMAP_MAYMOVE | MREMAP_FIXED, (void*)from) ==
         MAP_FAILED;
}

int main(int argc, char** argv) {
  const char* mode = argc > 2 ? argv[2] : "";
  end = now() + (argc > 1 ? atof(argv[1]) : 1);
  if (strcmp(mode, "copied") == 0 && copy_code() != 0) return 1;
  if (strcmp(mode, "leader") != 0) spin(0);
  pthread_t thread;
  if (pthread_create(&thread, 0, spin, 0) != 0) return 1;
  pthread_exit(0);
}
