/* sleepers: forty threads that work a little and then sleep. They differ in every value of a
 * capture.
 *
 * Each thread sets a name (some are hostile), a policy, a nice value and CPUs, if permitted. It
 * computes, writes, reads and touches memory, a different amount in each thread, and then sleeps
 * until the end. Prints "ready" once all threads sleep; after that their values in /proc do not
 * change. Exits at the end of standard input. Creates its files in the working directory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kThreads = 40, kPage = 4096 };

static const char* const kHostileNames[] = {
    "a b) S (c",          /* looks like the end of stat's second field */
    "new\nline",          /* splits the header of sched, and comm */
    "tab\there",          /* status has a tab after its keys */
    "bad\xff\xc3utf8",    /* not UTF-8 */
    "\xc3\xa9t\xc3\xa9",  /* UTF-8 */
    "\033[31mred\033[0m", /* switches a terminal's colour */
    "x\nState:\tZ",       /* looks like a line of status */
    "y\nwait_max : 7",    /* looks like a line of sched */
    "z\npolicy:\t9",      ")",    "((((",      "back\\slash\\n", "quote\"'`", "nul\001ctl\177",
    "cut\xe2\x82", /* ends in the middle of a character */
    "fifteen_chars_1",    "1234", "{\"a\":1}", "key: value",     "0::/fake",  "  padded  ",
};
enum { kHostile = sizeof kHostileNames / sizeof kHostileNames[0] };

/* Argument of sched_setattr(2). The C library has neither the call nor the struct. */
struct attributes {
  uint32_t size;
  uint32_t policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime;
  uint64_t deadline;
  uint64_t period;
};

static pthread_barrier_t work_barrier;

static void fail(const char* what) {
  fprintf(stderr, "sleepers: %s: %s\n", what, strerror(errno));
  exit(1);
}

/* Sets a policy. Without the right to do so, the thread keeps its policy. */
static void set_policy(int number) {
  const uint64_t ms = 1000 * 1000;
  struct attributes all[] = {
      {.policy = SCHED_FIFO, .priority = 10},
      {.policy = SCHED_RR, .priority = 7},
      {.policy = SCHED_BATCH, .nice = 3},
      {.policy = SCHED_IDLE},
      {.policy = 6 /* DEADLINE */, .runtime = 2 * ms, .deadline = 50 * ms, .period = 50 * ms},
      {.policy = 7 /* EXT */},
      {.policy = SCHED_OTHER, .nice = -7},
      {.policy = SCHED_OTHER, .nice = 12, .runtime = 5 * ms},
  };
  const int count = sizeof all / sizeof all[0];
  if (number >= count) return;
  all[number].size = sizeof all[number];
  syscall(SYS_sched_setattr, 0, &all[number], 0);
}

static void set_affinity(int number) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  if (number % 4 == 3) sched_setaffinity(0, sizeof one, &one);
}

static void set_name(int number) {
  char plain[16];
  snprintf(plain, sizeof plain, "pool-%d-thread", number);
  prctl(PR_SET_NAME, number < kHostile ? kHostileNames[number] : plain);
}

static void compute(int milliseconds) {
  struct timespec now, end;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  end.tv_nsec += milliseconds * 1000L * 1000L; /* below one second in total */
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec);
}

static void touch_memory(int pages) {
  char* memory =
      mmap(NULL, (size_t)pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  for (int i = 0; i < pages; ++i) memory[i * kPage] = 1;
}

static void write_and_read(int pages) {
  char path[] = "sleepers-XXXXXX";
  char page[kPage];
  memset(page, 'x', sizeof page);
  const int file = mkstemp(path);
  if (file < 0) fail("mkstemp");
  for (int i = 0; i < pages; ++i)
    if (write(file, page, sizeof page) != kPage) fail("write");
  for (int i = 0; i < pages; ++i)
    if (pread(file, page, sizeof page, (off_t)i * kPage) != kPage) fail("read");
  if (pages % 2 == 1 && ftruncate(file, 0) != 0)
    fail("ftruncate"); /* cancels writes that are not yet on disk */
  fsync(file);
  close(file);
  unlink(path);
}

static void sleep_repeatedly(int times) {
  const struct timespec moment = {.tv_nsec = 100 * 1000};
  for (int i = 0; i < times; ++i) nanosleep(&moment, NULL);
}

static void* run_thread(void* argument) {
  const int number = (int)(intptr_t)argument;
  set_name(number);
  set_affinity(number - kHostile); /* pinned threads may not become DEADLINE */
  set_policy(number - kHostile);
  compute(1 + number % 5);
  touch_memory(1 + number);
  write_and_read(1 + number);
  sleep_repeatedly(number);
  pthread_barrier_wait(&work_barrier);
  for (;;) pause();
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  prctl(PR_SET_NAME, "sleep) R (main");
  if (pthread_barrier_init(&work_barrier, NULL, kThreads + 1) != 0) fail("pthread_barrier_init");
  for (int i = 0; i < kThreads; ++i)
    if (pthread_create(&threads[i], NULL, run_thread, (void*)(intptr_t)i) != 0)
      fail("pthread_create");
  pthread_barrier_wait(&work_barrier);
  puts("ready");
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}
