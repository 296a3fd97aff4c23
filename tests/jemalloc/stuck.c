/* stuck: a process under jemalloc that can block its readers once a file system does not answer.
 *
 *   stuck memory|vfork|exec|pointer FILE
 *
 * memory: A thread reads a mapping of FILE through /proc/self/mem, which locks the list of
 * mappings. Another thread waits to change the list.
 *
 * vfork: Like memory; in addition, a child that shares the memory calls execve. This blocks even
 * readers of its stat file.
 *
 * exec: A thread executes FILE, which blocks processes that want to trace this one.
 *
 * pointer: A thread pointer refers to a mapping of FILE, so that the counters seem to be in it.
 *
 * Prints "ready", and starts after one byte of standard input. Exits at the end of standard input.
 */
#define _GNU_SOURCE
#ifdef __x86_64__
#include <asm/prctl.h>
#endif
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int mallctl(const char*, void*, size_t*, void*, size_t);

enum { kPages = 64, kPage = 4096, kHalf = kPages / 2 * kPage };

static char* mapped;
static const char* path;

static void* read_own_memory(void* unused) {
  char byte;
  const int memory = open("/proc/self/mem", O_RDONLY);
  sleep(1); /* until all threads are created, which needs the lock, too */
  if (pread(memory, &byte, 1, (off_t)(size_t)(mapped + kHalf)) != 1) perror("stuck: pread");
  return unused;
}

static void* change_mappings(void* unused) {
  for (;;) {
    sleep(2);
    munmap(mmap(NULL, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), kPage);
  }
  return unused;
}

static void* replace_child(void* unused) {
  sleep(3);
  if (vfork() == 0) {
    execl("/bin/true", "true", (char*)NULL);
    _exit(127);
  }
  return unused;
}

static void* execute_file(void* unused) {
  execl(path, path, (char*)NULL);
  perror("stuck: execl");
  return unused;
}

/* Afterwards libc functions do not work in this thread, so it makes system calls directly. */
static void* set_thread_pointer(void* unused) {
#if defined(__x86_64__)
  syscall(SYS_arch_prctl, ARCH_SET_FS, mapped + kHalf);
  for (;;) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_pause) : "rcx", "r11", "memory");
  }
#endif
  return unused;
}

static void start_thread(void* (*thread_main)(void*)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, thread_main, NULL) != 0) abort();
}

int main(int argc, char** argv) {
  const char* const mode = argc == 3 ? argv[1] : "";
  path = argc == 3 ? argv[2] : "";
  if (mallctl("epoch", NULL, NULL, NULL, 0) != 0) return 2;
  mapped = mmap(NULL, kPages * kPage, PROT_READ, MAP_PRIVATE, open(path, O_RDONLY), 0);
  if (mapped == MAP_FAILED || madvise(mapped, kPages * kPage, MADV_RANDOM) != 0)
    return perror("stuck: mmap"), 2;
  char byte;
  if (write(STDOUT_FILENO, "ready\n", 6) != 6 || read(STDIN_FILENO, &byte, 1) != 1) return 2;
  if (strcmp(mode, "memory") == 0) start_thread(read_own_memory), start_thread(change_mappings);
  if (strcmp(mode, "vfork") == 0)
    start_thread(read_own_memory), start_thread(change_mappings), start_thread(replace_child);
  if (strcmp(mode, "exec") == 0) start_thread(execute_file);
  if (strcmp(mode, "pointer") == 0) start_thread(set_thread_pointer);
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  return 0;
}
