/* drives: makes threads wait, move and work in every way that the kernel counts, one after the
 * other. A capture before and one after show which counters each thread moved.
 *
 * Prints "ready" when all its processes sleep. After the first line of input each process works in
 * turn, reports its time on standard error, and sleeps until the end. Then prints "done". Exits at
 * the end of its input. Needs a guest without other programs, root, two CPUs, and the cgroups of
 * workload.sh.
 */
#define _GNU_SOURCE
#include "drives.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kMaxFamilies = 64, kPagesPerWrite = 64, kSpinsPerClockRead = 20000 };

static const struct Family* const kAll[] = {kWakeups,  kBalance, kWaits,
                                            kPolicies, kGroups,  kMemory};

void fail(const char* what) {
  fprintf(stderr, "drives: %s: %s\n", what, strerror(errno));
  exit(1);
}

void check(int is_ok, const char* what) {
  if (!is_ok) fail(what);
}

void pin(int tid, unsigned mask) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (int cpu = 0; cpu < 8; ++cpu)
    if (mask >> cpu & 1) CPU_SET(cpu, &cpus);
  check(sched_setaffinity(tid, sizeof cpus, &cpus) == 0, "sched_setaffinity");
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Runs mostly in user space: without a vDSO clock, reading the time is a system call. */
void spin_ms(int milliseconds) {
  const int64_t end = now_ns() + milliseconds * INT64_C(1000000);
  while (now_ns() < end)
    for (volatile int i = 0; i < kSpinsPerClockRead; ++i) {
    }
}

void sleep_ms(int milliseconds) {
  const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  nanosleep(&time, NULL);
}

void sleep_forever(void) {
  for (;;) pause();
}

struct Start {
  const char* name;
  void (*body)(void);
};

static void* run_thread(void* argument) {
  const struct Start start = *(struct Start*)argument;
  free(argument);
  prctl(PR_SET_NAME, start.name);
  start.body();
  sleep_forever();
  return NULL;
}

void start_thread(const char* name, void (*body)(void)) {
  struct Start* const start = malloc(sizeof *start);
  pthread_t thread;
  *start = (struct Start){name, body};
  check(pthread_create(&thread, NULL, run_thread, start) == 0, "pthread_create");
}

char* map_anonymous_pages(size_t pages) {
  char* const memory = mmap(NULL, pages * kPage, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(memory != MAP_FAILED, "mmap");
  madvise(memory, pages * kPage, MADV_NOHUGEPAGE);
  return memory;
}

void touch_pages(char* memory, size_t pages, char byte) {
  for (size_t i = 0; i < pages; ++i) ((volatile char*)memory)[i * kPage] = byte;
}

void fill_file(const char* path, size_t pages) {
  static char block[kPagesPerWrite * kPage];
  memset(block, 'x', sizeof block);
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  check(file >= 0, path);
  for (size_t done = 0; done < pages; done += kPagesPerWrite)
    check(write(file, block, sizeof block) == sizeof block, path);
  check(fsync(file) == 0, path);
  check(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0, path);
  close(file);
}

void drop_page_cache(void) {
  const int file = open("/proc/sys/vm/drop_caches", O_WRONLY);
  check(file >= 0 && write(file, "1", 1) == 1, "drop_caches");
  close(file);
}

/* ---- one process per family ---- */

struct Child {
  const struct Family* family;
  pid_t pid;
  int to, from;
};

static void join_cgroup(const char* cgroup) {
  char path[256];
  snprintf(path, sizeof path, "/sys/fs/cgroup/%s/cgroup.procs", cgroup);
  const int file = open(path, O_WRONLY);
  check(file >= 0 && write(file, "0", 1) == 1, path);
  close(file);
}

static void send_byte(int to) { check(write(to, "", 1) == 1, "write"); }

/* Reads one byte. Returns 0 at the end of input. */
static int receive_byte(int from) {
  char byte;
  return read(from, &byte, 1) == 1;
}

static void run_family(const struct Family* family, int from, int to) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, family->name);
  join_cgroup(family->cgroup);
  if (family->prepare) family->prepare();
  send_byte(to);
  if (!receive_byte(from)) _exit(0);
  family->work();
  send_byte(to);
  receive_byte(from);
  _exit(0);
}

static struct Child start_family(const struct Family* family) {
  int to[2], from[2];
  check(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0, "pipe");
  const pid_t pid = fork();
  check(pid >= 0, "fork");
  if (pid == 0) {
    close(to[1]);
    close(from[0]);
    run_family(family, to[0], from[1]);
  }
  close(to[0]);
  close(from[1]);
  check(receive_byte(from[0]), family->name);
  return (struct Child){family, pid, to[1], from[0]};
}

static void run_work(const struct Child* child) {
  const int64_t start = now_ns();
  send_byte(child->to);
  check(receive_byte(child->from), child->family->name);
  fprintf(stderr, "%s: %d ms\n", child->family->name, (int)((now_ns() - start) / 1000000));
}

static void print_line(const char* word) {
  puts(word);
  fflush(stdout);
}

int main(void) {
  static struct Child children[kMaxFamilies];
  int count = 0;
  for (size_t i = 0; i < sizeof kAll / sizeof kAll[0]; ++i)
    for (const struct Family* family = kAll[i]; family->name; ++family)
      children[count++] = start_family(family);
  print_line("ready");
  if (!receive_byte(STDIN_FILENO)) return 0;
  for (int i = 0; i < count; ++i) run_work(&children[i]);
  print_line("done");
  while (receive_byte(STDIN_FILENO)) {
  }
  for (int i = 0; i < count; ++i) kill(children[i].pid, SIGKILL);
  while (wait(NULL) > 0) {
  }
  return 0;
}
