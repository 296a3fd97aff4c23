// ptrace_floor: the minimal cost of reading two words of each thread of a process with ptrace.
// Stops all threads, reads their thread pointers, resumes them, and reads the words with
// process_vm_readv, without checks and without several workers.
//
//   ptrace_floor PID OFFSET    OFFSET: from the thread pointer to the two words
//
// Prints {"floor_ns": N, "threads": N, "read": N}.

#define _GNU_SOURCE
#include <dirent.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

enum { kMaxThreads = 1 << 15, kWords = 3, kIovecs = 1024 };

static pid_t tids[kMaxThreads];
static struct iovec remote[kMaxThreads];
static unsigned long words[kMaxThreads][kWords];

static unsigned long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec;
}

static size_t list_threads(const char* pid) {
  char path[64];
  size_t count = 0;
  snprintf(path, sizeof path, "/proc/%s/task", pid);
  DIR* const dir = opendir(path);
  for (struct dirent* entry; dir && count < kMaxThreads && (entry = readdir(dir));)
    if (atoi(entry->d_name) > 0) tids[count++] = atoi(entry->d_name);
  if (dir) closedir(dir);
  return count;
}

static unsigned long thread_pointer(pid_t tid) {
#if defined(__x86_64__)
  struct user_regs_struct registers = {0};
  struct iovec buffer = {&registers, sizeof registers};
  ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &buffer);
  return registers.fs_base;
#else
  unsigned long pointer = 0;
  struct iovec buffer = {&pointer, sizeof pointer};
  ptrace(PTRACE_GETREGSET, tid, NT_ARM_TLS, &buffer);
  return pointer;
#endif
}

int main(int argc, char** argv) {
  if (argc != 3) return fprintf(stderr, "usage: ptrace_floor PID OFFSET\n"), 2;
  const long offset = atol(argv[2]);
  const size_t count = list_threads(argv[1]);
  const unsigned long long start = now_ns();
  for (size_t i = 0; i < count; i++) ptrace(PTRACE_SEIZE, tids[i], NULL, NULL);
  for (size_t i = 0; i < count; i++) ptrace(PTRACE_INTERRUPT, tids[i], NULL, NULL);
  for (size_t i = 0; i < count; i++) {
    waitpid(tids[i], NULL, __WALL);
    remote[i] =
        (struct iovec){(void*)(thread_pointer(tids[i]) + (unsigned long)offset), sizeof words[i]};
    ptrace(PTRACE_DETACH, tids[i], NULL, NULL);
  }
  size_t read = 0;
  for (size_t i = 0; i < count; i += kIovecs) {
    const size_t batch_size = count - i < kIovecs ? count - i : kIovecs;
    const struct iovec local = {words[i], batch_size * sizeof words[i]};
    const ssize_t size = process_vm_readv(atoi(argv[1]), &local, 1, &remote[i], batch_size, 0);
    if (size > 0) read += (size_t)size / sizeof words[i];
  }
  printf("{\"floor_ns\": %llu, \"threads\": %zu, \"read\": %zu}\n", now_ns() - start, count, read);
  return 0;
}
