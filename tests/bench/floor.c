// floor: the minimal cost of a capture of this host. Reads the same directories and files as
// `ctprof capture`, with raw system calls, without parsing or output. One read per file suffices
// for all of them.
//
//   floor [JOBS]    prints {"floor_ns": N, "threads": N, "processes": N, "files": N}
//
// First walks /proc/*/task; then JOBS threads (default 1) share the rows in chunks, like the
// workers of a capture.

#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kMaxRows = 1 << 22, kMaxJobs = 64, kChunk = 64, kBufferBytes = 64 * 1024 };

struct Row {
  int tgid, tid;
};

struct KernelDirent {
  unsigned long long inode;
  long long offset;
  unsigned short length;
  unsigned char type;
  char name[];
};

static const char* const kThreadFiles[] = {"stat", "schedstat", "status", "io", "sched"};
static const char* const kProcessFiles[] = {"cgroup", "smaps_rollup"};

static struct Row* rows;
static size_t row_count, process_count;
static atomic_size_t next_row, files_read;

static unsigned long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec;
}

// Calls `visit` with `parent` and every entry of the directory that is a number.
static void walk(const char* path, int parent, void (*visit)(int, int)) {
  char buffer[kBufferBytes];
  const int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return;
  for (long size; (size = syscall(SYS_getdents64, dir, buffer, sizeof buffer)) > 0;)
    for (long offset = 0; offset < size;) {
      const struct KernelDirent* entry = (const struct KernelDirent*)(buffer + offset);
      const int number = atoi(entry->name);
      if (number > 0) visit(parent, number);
      offset += entry->length;
    }
  close(dir);
}

static void add_thread(int tgid, int tid) {
  if (row_count < kMaxRows) rows[row_count++] = (struct Row){tgid, tid};
}

static void add_process(int unused, int tgid) {
  (void)unused;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", tgid);
  walk(path, tgid, add_thread);
  process_count++;
}

static void read_file(int dir, const char* name, char* buffer) {
  const int file = openat(dir, name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  if (read(file, buffer, kBufferBytes) > 0)
    atomic_fetch_add_explicit(&files_read, 1, memory_order_relaxed);
  close(file);
}

static void read_files_under(int proc, const char* path, const char* const* files, size_t count,
                             char* buffer) {
  const int dir = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return;
  for (size_t i = 0; i < count; i++) read_file(dir, files[i], buffer);
  close(dir);
}

static void read_row(int proc, struct Row row, char* buffer) {
  char path[64];
  unsigned long affinity[128];
  snprintf(path, sizeof path, "%d/task/%d", row.tgid, row.tid);
  read_files_under(proc, path, kThreadFiles, sizeof kThreadFiles / sizeof *kThreadFiles, buffer);
  syscall(SYS_sched_getaffinity, row.tid, sizeof affinity, affinity);
  if (row.tid != row.tgid) return;
  snprintf(path, sizeof path, "%d", row.tgid);
  read_files_under(proc, path, kProcessFiles, sizeof kProcessFiles / sizeof *kProcessFiles, buffer);
}

static void* read_chunks(void* unused) {
  (void)unused;
  char buffer[kBufferBytes];
  const int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (size_t first; (first = atomic_fetch_add(&next_row, kChunk)) < row_count;)
    for (size_t i = first; i < first + kChunk && i < row_count; i++)
      read_row(proc, rows[i], buffer);
  close(proc);
  return NULL;
}

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? atoi(argv[1]) : 1;
  if (jobs < 1 || jobs > kMaxJobs) return fprintf(stderr, "usage: floor [JOBS]\n"), 2;
  rows = malloc(sizeof *rows * kMaxRows);  // pages are allocated only where they are used
  const unsigned long long start = now_ns();
  walk("/proc", 0, add_process);
  pthread_t workers[kMaxJobs];
  for (int i = 1; i < jobs; i++) pthread_create(&workers[i], NULL, read_chunks, NULL);
  read_chunks(NULL);
  for (int i = 1; i < jobs; i++) pthread_join(workers[i], NULL);
  printf("{\"floor_ns\": %llu, \"threads\": %zu, \"processes\": %zu, \"files\": %zu}\n",
         now_ns() - start, row_count, process_count, atomic_load(&files_read));
  free(rows);
  return 0;
}
