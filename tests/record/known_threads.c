/* known_threads: threads that measure how long they run and wait, and threads in a known state.
 *
 * `known_threads threads` runs until standard input ends, and prints "ready" once all threads run.
 * At the end it prints a line for each time that `busy` or `rhythm` read its clocks: NAME TID
 * BOOTTIME_NS RUN_NS WAIT_NS. The threads:
 *
 * - busy runs whenever it can;
 * - rhythm alternates between 3 ms of CPU time and 7 ms of sleep;
 * - starver is runnable under SCHED_IDLE on the CPU of a thread with nice -20;
 * - blocked sleeps all the time.
 *
 * `known_threads storm` forks children that exit immediately, one after the other, until standard
 * input ends. Threads under SCHED_IDLE use the remaining CPU time, so that no CPU is idle: the host
 * counts the time in which a halted CPU switches to its next thread as idle time, but the kernel
 * counts it as run time of that thread.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kMaxMeasurements = 1 << 16, kHighestPriority = -20 };
static const uint64_t kMs = 1000 * 1000;

struct measurement {
  uint64_t at, run, wait;
};

/* The measurements of a thread. */
struct measurements {
  const char* name;
  int tid, schedstat;
  int count;
  struct measurement list[kMaxMeasurements];
};

static volatile int must_stop;

static uint64_t now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000 * kMs + (uint64_t)time.tv_nsec;
}

static void open_measurements(struct measurements* measurements) {
  pthread_setname_np(pthread_self(), measurements->name);
  char path[64];
  measurements->tid = (int)syscall(SYS_gettid);
  snprintf(path, sizeof path, "/proc/thread-self/schedstat");
  measurements->schedstat = open(path, O_RDONLY);
}

static void measure(struct measurements* measurements) {
  char text[128] = "";
  unsigned long long run = 0, wait = 0;
  if (measurements->count == kMaxMeasurements) return;
  if (pread(measurements->schedstat, text, sizeof text - 1, 0) <= 0) return;
  sscanf(text, "%llu %llu", &run, &wait);
  measurements->list[measurements->count++] =
      (struct measurement){now(CLOCK_BOOTTIME), now(CLOCK_THREAD_CPUTIME_ID), wait};
}

static void run_for(uint64_t ns) {
  const uint64_t until = now(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (now(CLOCK_THREAD_CPUTIME_ID) < until && !must_stop) {
  }
}

static void* run_busy(void* measurements) {
  open_measurements(measurements);
  while (!must_stop) {
    measure(measurements);
    run_for(3 * kMs);
  }
  return NULL;
}

static void* run_rhythm(void* measurements) {
  const struct timespec pause = {.tv_nsec = 7 * 1000 * 1000};
  open_measurements(measurements);
  while (!must_stop) {
    measure(measurements);
    run_for(3 * kMs);
    measure(measurements);
    nanosleep(&pause, NULL);
  }
  return NULL;
}

static void* run_blocked(void* name) {
  pthread_setname_np(pthread_self(), name);
  while (!must_stop) pause();
  return NULL;
}

static void* run_burner(void* name) {
  pthread_setname_np(pthread_self(), name);
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), kHighestPriority);
  while (!must_stop) {
  }
  return NULL;
}

/* Gets only the CPU time that the burner leaves. It is started before the burner, so that it can
 * set its policy. */
static void* run_starver(void* name) {
  const struct sched_param none = {.sched_priority = 0};
  pthread_setname_np(pthread_self(), name);
  sched_setscheduler(0, SCHED_IDLE, &none);
  while (!must_stop) {
  }
  return NULL;
}

static void start(void* (*thread_main)(void*), void* argument, int cpu) {
  pthread_t thread;
  pthread_attr_t attributes;
  cpu_set_t cpus;
  pthread_attr_init(&attributes);
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  if (cpu >= 0) pthread_attr_setaffinity_np(&attributes, sizeof cpus, &cpus);
  if (pthread_create(&thread, &attributes, thread_main, argument) != 0) _exit(1);
}

static int input_has_ended(int wait_ms) {
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  char byte;
  return poll(&input, 1, wait_ms) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

static void print_measurements(const struct measurements* measurements) {
  for (int i = 0; i < measurements->count; ++i)
    printf("%s %d %llu %llu %llu\n", measurements->name, measurements->tid,
           (unsigned long long)measurements->list[i].at,
           (unsigned long long)measurements->list[i].run,
           (unsigned long long)measurements->list[i].wait);
}

static int run_threads(void) {
  static struct measurements threads[2] = {{.name = "k-busy"}, {.name = "k-rhythm"}};
  const int last = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
  start(run_busy, &threads[0], -1);
  start(run_rhythm, &threads[1], -1);
  start(run_blocked, "k-blocked", -1);
  start(run_starver, "k-starver", last);
  usleep(100 * 1000);
  start(run_burner, "k-burner", last);
  usleep(500 * 1000);
  puts("ready");
  fflush(stdout);
  while (!input_has_ended(-1)) {
  }
  must_stop = 1;
  usleep(20 * 1000);
  for (int i = 0; i < 2; ++i) print_measurements(&threads[i]);
  fflush(stdout);
  _exit(0);
}

static void* run_filler(void* none) {
  const struct sched_param priority = {.sched_priority = 0};
  sched_setscheduler(0, SCHED_IDLE, &priority);
  while (!must_stop) {
  }
  return none;
}

static int run_storm(void) {
  for (int cpu = 0; cpu < (int)sysconf(_SC_NPROCESSORS_ONLN); ++cpu) start(run_filler, NULL, cpu);
  puts("ready");
  fflush(stdout);
  while (!input_has_ended(0)) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
  }
  return 0;
}

int main(int count, char** arguments) {
  if (count == 2 && strcmp(arguments[1], "threads") == 0) return run_threads();
  if (count == 2 && strcmp(arguments[1], "storm") == 0) return run_storm();
  fputs("usage: known_threads threads|storm\n", stderr);
  return 2;
}
