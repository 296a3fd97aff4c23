/* heap: threads that read their own counters from jemalloc.
 *
 *   heap N
 *
 * Starts N threads besides the main thread. Each allocates and frees a different amount, reads its
 * own two counters from jemalloc, and sleeps.
 *
 * Prints "ready" when all of them sleep. At the end of standard input, it prints a line `tid
 * allocated deallocated` for each thread, including the main thread, and exits. meson.build builds
 * several variants. With PRELOADED it is not linked with jemalloc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMaxThreads = 5000, kBlocks = 64 };

struct Figures {
  int tid;
  uint64_t allocated, deallocated;
};

static struct Figures figures[kMaxThreads + 1];
static pthread_barrier_t work_barrier;
static int (*mallctl_function)(const char*, void*, size_t*, void*, size_t);

#ifdef PRELOADED
static void find_jemalloc(void) {
  void* const found = dlsym(RTLD_DEFAULT, "mallctl");
  memcpy(&mallctl_function, &found, sizeof mallctl_function); /* ISO C forbids the cast */
}
#else
int mallctl(const char*, void*, size_t*, void*, size_t);
static void find_jemalloc(void) { mallctl_function = mallctl; }
#endif

static uint64_t read_counter(const char* name) {
  uint64_t value = 0;
  size_t size = sizeof value;
  if (mallctl_function(name, &value, &size, NULL, 0) != 0) abort();
  return value;
}

/* Writes to the block, because a compiler may remove unused allocations. */
static void* allocate_and_touch(size_t size) {
  void* volatile block = malloc(size);
  memset(block, 1, size);
  return block;
}

static void allocate_and_free(int number) {
  void* blocks[kBlocks];
  for (int i = 0; i < kBlocks; ++i)
    blocks[i] = allocate_and_touch((size_t)(number + 1) * 40 + (size_t)i * 113);
  for (int i = 0; i < kBlocks; ++i)
    if (i % (number % 5 + 2) == 0) free(blocks[i]);
}

static void store_figures(int number) {
  figures[number] = (struct Figures){gettid(), read_counter("thread.allocated"),
                                     read_counter("thread.deallocated")};
}

static void* run_thread(void* argument) {
  const int number = (int)(intptr_t)argument;
  if (number % 10 != 9) allocate_and_free(number); /* every tenth thread never allocates */
  store_figures(number);
  pthread_barrier_wait(&work_barrier);
  for (;;) pause();
  return NULL;
}

int main(int argc, char** argv) {
  const int count = argc == 2 ? atoi(argv[1]) : 0;
  find_jemalloc();
  if (count < 1 || count > kMaxThreads || !mallctl_function)
    return fprintf(stderr, "usage: heap N, under jemalloc\n"), 2;
  if (pthread_barrier_init(&work_barrier, NULL, (unsigned)count + 1) != 0) return 2;
  for (int i = 1; i <= count; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_thread, (void*)(intptr_t)i) != 0)
      return perror("heap: pthread_create"), 2;
  }
  pthread_barrier_wait(&work_barrier);
  allocate_and_free(0);
  store_figures(0);
  if (write(STDOUT_FILENO, "ready\n", 6) != 6) return 2;
  for (char byte; read(STDIN_FILENO, &byte, 1) > 0;) continue;
  for (int i = 0; i <= count; ++i)
    printf("%d %llu %llu\n", figures[i].tid, (unsigned long long)figures[i].allocated,
           (unsigned long long)figures[i].deallocated);
  return 0;
}
