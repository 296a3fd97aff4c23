/* waits: threads that wait, and measure for how long.
 *
 * `waits kinds FILE` starts a thread for each kind of wait, and prints a line for each when all
 * have finished: NAME TID CALLS BLOCKED_NS OFF_NS FIRST_DELAY_NS LAST_DELAY_NS. BLOCKED_NS is the
 * wall time of the thread's calls, less its CPU time in them and less its time on the run queue
 * (schedstat). OFF_NS is the wall time of all the thread's work, less its CPU time. The delays are
 * the values of schedstat before and after the work. FILE is written, synced, and faulted in again.
 * The first line of the output is the cost of a context switch, in ns: two threads on one CPU
 * exchange a byte, and the wall time is divided by the number of transfers.
 *
 * `waits turns SECONDS THREADS` has threads that alternate between a wait of 0.9 ms at one place
 * and one of 0.2 ms at another. It prints the sums of BLOCKED_NS: LONG SHORT.
 *
 * `waits crowd SECONDS` has pairs of threads that exchange a byte as fast as they can.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* noclone prevents copies with other names. */
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static const uint64_t kMs = 1000 * 1000;
enum {
  kNaps = 50,
  kWakeUps = 40,
  kSyncs = 150,
  kPages = 1024,
  kPage = 4096,
  kMaxThreads = 64,
  kTransfers = 2000
};

static uint64_t now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000 * kMs + (uint64_t)time.tv_nsec;
}

struct measurement {
  uint64_t wall, cpu, delay;
};

struct waiter {
  const char* name;
  void (*work)(struct waiter*);
  int tid, schedstat, calls, has_begun;
  uint64_t blocked, off_cpu, first_delay, last_delay;
  struct measurement begun;
  pthread_t thread;
};

static uint64_t read_delay(const struct waiter* waiter) {
  char text[128] = "";
  unsigned long long run_waiters = 0, delay = 0;
  if (pread(waiter->schedstat, text, sizeof text - 1, 0) <= 0) abort();
  sscanf(text, "%llu %llu", &run_waiters, &delay);
  return delay;
}

static void begin_call(struct waiter* waiter) {
  waiter->begun.delay = read_delay(waiter);
  waiter->begun.wall = now(CLOCK_MONOTONIC);
  waiter->begun.cpu = now(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t end_call(struct waiter* waiter) {
  const uint64_t cpu = now(CLOCK_THREAD_CPUTIME_ID) - waiter->begun.cpu;
  const uint64_t wall = now(CLOCK_MONOTONIC) - waiter->begun.wall;
  const uint64_t delay = read_delay(waiter) - waiter->begun.delay;
  const uint64_t blocked = wall > cpu + delay ? wall - cpu - delay : 0;
  waiter->blocked += blocked;
  ++waiter->calls;
  return blocked;
}

/* --- the places where threads wait --- */

static void sleep_ns(uint64_t ns) {
  const struct timespec time = {(time_t)(ns / (1000 * kMs)), (long)(ns % (1000 * kMs))};
  syscall(SYS_nanosleep, &time, NULL);
}

NOINLINE void takes_a_nap(void) {
  sleep_ns(10 * kMs);
  __asm__ volatile("");
}
NOINLINE void waits_long(void) {
  sleep_ns(900 * 1000);
  __asm__ volatile("");
}
NOINLINE void waits_short(void) {
  sleep_ns(200 * 1000);
  __asm__ volatile("");
}
NOINLINE void waits_for_word(uint32_t* word) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  __asm__ volatile("");
}
NOINLINE void reads_a_pipe(int pipe) {
  char byte;
  if (read(pipe, &byte, 1) != 1) abort();
  __asm__ volatile("");
}
NOINLINE void syncs(int file) {
  fsync(file);
  __asm__ volatile("");
}
NOINLINE char touches(const volatile char* page) {
  const char byte = *page;
  __asm__ volatile("");
  return byte;
}

/* --- the work of the threads --- */

static void nap(struct waiter* waiter) {
  for (int i = 0; i < kNaps; ++i) {
    begin_call(waiter);
    takes_a_nap();
    end_call(waiter);
  }
}

static uint32_t word;
static int pipes[2];

static void wait_for_word(struct waiter* waiter) {
  for (int i = 0; i < kWakeUps; ++i) {
    begin_call(waiter);
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0) waits_for_word(&word);
    end_call(waiter);
    __atomic_store_n(&word, 0, __ATOMIC_RELEASE);
  }
}

static void read_pipe(struct waiter* waiter) {
  for (int i = 0; i < kWakeUps; ++i) {
    begin_call(waiter);
    reads_a_pipe(pipes[0]);
    end_call(waiter);
  }
}

/* Wakes the threads that wait for the word and the pipe, every 5 ms. */
static void wake_both(struct waiter* waiter) {
  for (int i = 0; i < kWakeUps; ++i) {
    begin_call(waiter);
    sleep_ns(5 * kMs);
    end_call(waiter);
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    if (write(pipes[1], "x", 1) != 1) abort();
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) != 0) sleep_ns(100 * 1000);
  }
}

static const char* path;

static void sync_file(struct waiter* waiter) {
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  static char page[kPage];
  for (int i = 0; i < kSyncs; ++i) {
    if (pwrite(file, page, sizeof page, (off_t)i * kPage) != kPage) abort();
    begin_call(waiter);
    syncs(file);
    end_call(waiter);
  }
  close(file);
}

static int pages_file;

/* Runs before the threads start, because on a busy disk it takes longer than all faults. */
static void write_pages(void) {
  char name[4096];
  static char pages[kPages * kPage];
  snprintf(name, sizeof name, "%s.pages", path);
  pages_file = open(name, O_RDWR | O_CREAT, 0600);
  if (pwrite(pages_file, pages, sizeof pages, 0) != sizeof pages) abort();
  fsync(pages_file);
  unlink(name);
}

static void fault_in(struct waiter* waiter) {
  posix_fadvise(pages_file, 0, 0, POSIX_FADV_DONTNEED);
  const char* at = mmap(NULL, kPages * kPage, PROT_READ, MAP_SHARED, pages_file, 0);
  madvise((void*)at, kPages * kPage, MADV_RANDOM);
  for (int i = 0; i < kPages; ++i) {
    begin_call(waiter);
    touches(at + i * kPage);
    end_call(waiter);
  }
}

static void pin_to_first_cpu(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  sched_setaffinity(0, sizeof set, &set);
}

/* Two threads of this kind share a CPU. */
static void share_cpu(struct waiter* waiter) {
  pin_to_first_cpu();
  begin_call(waiter);
  while (now(CLOCK_THREAD_CPUTIME_ID) - waiter->begun.cpu < 150 * kMs) continue;
  end_call(waiter);
}

static uint64_t long_ns, short_ns;
static uint64_t until;

static void alternate_waits(struct waiter* waiter) {
  prctl(PR_SET_TIMERSLACK, 1);
  while (now(CLOCK_MONOTONIC) < until) {
    begin_call(waiter);
    waits_long();
    __atomic_fetch_add(&long_ns, end_call(waiter), __ATOMIC_RELAXED);
    begin_call(waiter);
    waits_short();
    __atomic_fetch_add(&short_ns, end_call(waiter), __ATOMIC_RELAXED);
  }
}

static void* run_waiter(void* argument) {
  struct waiter* waiter = argument;
  waiter->tid = (int)syscall(SYS_gettid);
  waiter->schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
  waiter->first_delay = read_delay(waiter);
  const uint64_t wall = now(CLOCK_MONOTONIC);
  const uint64_t cpu = now(CLOCK_THREAD_CPUTIME_ID);
  __atomic_store_n(&waiter->has_begun, 1, __ATOMIC_RELEASE);
  waiter->work(waiter);
  const uint64_t used = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
  waiter->off_cpu = now(CLOCK_MONOTONIC) - wall - used;
  waiter->last_delay = read_delay(waiter);
  /* Exits directly: the exit path of the library may wait for an unknown time. */
  syscall(SYS_exit, 0);
  return NULL;
}

/* Starts the threads one after the other: a new thread may have to wait for others in places that
 * it cannot measure. */
static void run_waiters(struct waiter* waiters, int count) {
  for (int i = 0; i < count; ++i) {
    if (pthread_create(&waiters[i].thread, NULL, run_waiter, &waiters[i]) != 0) abort();
    while (!__atomic_load_n(&waiters[i].has_begun, __ATOMIC_ACQUIRE)) sleep_ns(100 * 1000);
  }
  for (int i = 0; i < count; ++i) pthread_join(waiters[i].thread, NULL);
}

/* Writes back what it reads, until the pipe is closed. */
static void* echo_bytes(void* argument) {
  const int* pipe_ends = argument;
  char byte;
  pin_to_first_cpu();
  while (read(pipe_ends[0], &byte, 1) == 1)
    if (write(pipe_ends[1], &byte, 1) != 1) abort();
  return NULL;
}

/* Returns the wall time of kTransfers transfers. */
static uint64_t exchange_bytes(void) {
  int to_other[2], from_other[2];
  if (pipe(to_other) != 0 || pipe(from_other) != 0) abort();
  int pipe_ends[] = {to_other[0], from_other[1]};
  pthread_t other;
  cpu_set_t before;
  sched_getaffinity(0, sizeof before, &before);
  pin_to_first_cpu();
  if (pthread_create(&other, NULL, echo_bytes, pipe_ends) != 0) abort();
  const uint64_t begun = now(CLOCK_MONOTONIC);
  for (int i = 0; i < kTransfers / 2; ++i) {
    char byte = 'x';
    if (write(to_other[1], &byte, 1) != 1 || read(from_other[0], &byte, 1) != 1) abort();
  }
  const uint64_t took = now(CLOCK_MONOTONIC) - begun;
  close(to_other[1]);
  pthread_join(other, NULL);
  close(to_other[0]), close(from_other[0]), close(from_other[1]);
  sched_setaffinity(0, sizeof before, &before);
  return took;
}

static int run_kinds(void) {
  struct waiter waiters[] = {
      {.name = "nap", .work = nap},
      {.name = "futex", .work = wait_for_word},
      {.name = "pipe", .work = read_pipe},
      {.name = "hands_out", .work = wake_both},
      {.name = "fsync", .work = sync_file},
      {.name = "fault", .work = fault_in},
      {.name = "competes", .work = share_cpu},
      {.name = "competes_too", .work = share_cpu},
  };
  enum { kKinds = sizeof waiters / sizeof waiters[0] };
  if (pipe(pipes) != 0) return 1;
  write_pages();
  uint64_t switch_time_ns = exchange_bytes();
  run_waiters(waiters, kKinds);
  switch_time_ns += exchange_bytes();
  printf("%llu\n", (unsigned long long)(switch_time_ns / (2 * kTransfers)));
  for (int i = 0; i < kKinds; ++i)
    printf("%s %d %d %llu %llu %llu %llu\n", waiters[i].name, waiters[i].tid, waiters[i].calls,
           (unsigned long long)waiters[i].blocked, (unsigned long long)waiters[i].off_cpu,
           (unsigned long long)waiters[i].first_delay, (unsigned long long)waiters[i].last_delay);
  return 0;
}

static int run_turns(int seconds, int threads) {
  static struct waiter waiters[kMaxThreads];
  if (threads < 1 || threads > kMaxThreads) return 2;
  until = now(CLOCK_MONOTONIC) + (uint64_t)seconds * 1000 * kMs;
  for (int i = 0; i < threads; ++i) waiters[i].work = alternate_waits;
  run_waiters(waiters, threads);
  printf("%llu %llu\n", (unsigned long long)long_ns, (unsigned long long)short_ns);
  return 0;
}

struct pair {
  int from, to;
};

static void* forward_byte(void* argument) {
  const struct pair* pair = argument;
  char byte;
  while (read(pair->from, &byte, 1) == 1)
    if (now(CLOCK_MONOTONIC) >= until || write(pair->to, &byte, 1) != 1) break;
  close(pair->to);
  return NULL;
}

static int run_crowd(int seconds) {
  enum { kPairs = 20 };
  static struct pair pipe_ends[2 * kPairs];
  pthread_t threads[2 * kPairs];
  until = now(CLOCK_MONOTONIC) + (uint64_t)seconds * 1000 * kMs;
  for (int i = 0; i < kPairs; ++i) {
    int to_other[2], from_other[2];
    if (pipe(to_other) != 0 || pipe(from_other) != 0) return 1;
    pipe_ends[2 * i] = (struct pair){to_other[0], from_other[1]};
    pipe_ends[2 * i + 1] = (struct pair){from_other[0], to_other[1]};
    if (write(to_other[1], "x", 1) != 1) return 1;
  }
  for (int i = 0; i < 2 * kPairs; ++i)
    pthread_create(&threads[i], NULL, forward_byte, &pipe_ends[i]);
  for (int i = 0; i < 2 * kPairs; ++i) pthread_join(threads[i], NULL);
  return 0;
}

int main(int argc, char** argv) {
  const char* mode = argc > 2 ? argv[1] : "";
  if (strcmp(mode, "kinds") == 0) return path = argv[2], run_kinds();
  if (strcmp(mode, "turns") == 0 && argc > 3) return run_turns(atoi(argv[2]), atoi(argv[3]));
  if (strcmp(mode, "crowd") == 0) return run_crowd(atoi(argv[2]));
  return 2;
}
