/* delays: makes one thread wait for one resource, and then sleep.
 *
 *   delays fsync FILE    writes pages and syncs each one: waits for the disk
 *   delays cow           writes to pages that a child shares: waits for the copies
 *   delays cpu           spins on one CPU together with three children: waits for the CPU
 *
 * Prints "ready" once it has waited enough, and exits at the end of standard input. Only the delays
 * of its main thread count.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
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

enum { kSyncs = 200, kPages = 30000, kPage = 4096, kSpinners = 3, kSpinSeconds = 1 };

static void fail(const char* what) {
  fprintf(stderr, "delays: %s: %s\n", what, strerror(errno));
  exit(1);
}

/* Raises the priority, so that a test of another delay waits as little as possible for a CPU. */
static void raise_priority(void) {
  const struct sched_param lowest = {.sched_priority = 1};
  sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest); /* if permitted */
}

static void wait_for_disk(const char* path) {
  char page[kPage];
  memset(page, 'x', sizeof page);
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) fail(path);
  for (int i = 0; i < kSyncs; ++i)
    if (pwrite(file, page, sizeof page, (off_t)i * kPage) != kPage || fsync(file) != 0)
      fail("fsync");
  close(file);
  unlink(path);
}

static pid_t start_idle_child(void) {
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  return child;
}

static void kill_child(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

static void write_pages(char* memory, char byte) {
  for (int i = 0; i < kPages; ++i) memory[(size_t)i * kPage] = byte;
}

static void wait_for_copies(void) {
  char* memory = mmap(NULL, (size_t)kPages * kPage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  madvise(memory, (size_t)kPages * kPage, MADV_NOHUGEPAGE); /* one copy per page */
  write_pages(memory, 1);
  const pid_t child = start_idle_child();
  write_pages(memory, 2);
  kill_child(child);
}

static void spin_until(time_t end) {
  struct timespec now;
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while (now.tv_sec < end);
}

static void wait_for_cpu(void) {
  struct timespec now;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) fail("sched_setaffinity");
  clock_gettime(CLOCK_MONOTONIC, &now);
  for (int i = 0; i < kSpinners; ++i)
    if (fork() == 0) {
      spin_until(now.tv_sec + 1 + kSpinSeconds);
      _exit(0);
    }
  spin_until(now.tv_sec + 1 + kSpinSeconds);
  while (wait(NULL) > 0) {
  }
}

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "";
  if (strcmp(kind, "fsync") == 0 && argc > 2) {
    raise_priority();
    wait_for_disk(argv[2]);
  } else if (strcmp(kind, "cow") == 0) {
    raise_priority();
    wait_for_copies();
  } else if (strcmp(kind, "cpu") == 0) {
    wait_for_cpu();
  } else {
    return fprintf(stderr, "usage: delays fsync FILE | cow | cpu\n"), 2;
  }
  puts("ready");
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}
