/* troubles: a program that runs normally until it reads a line from standard input; then it causes
 * the problem that a test searches for. Exits at the end of standard input.
 *
 *   troubles KIND NAME [FILE]
 *
 * Prints "ready" after the start, and "done" for each line that it reads. NAME becomes the name of
 * the process. Kinds:
 *
 *   server     serves for 6 ms of every 10, on the last CPU; causes no problem
 *   burner     sleeps; then three threads use the last CPU
 *   convoy     three threads, each with its own lock; then all use one lock
 *   syncer     writes the start of FILE repeatedly; then syncs each write
 *   leaker     sleeps; then starts ten threads every 200 ms
 *   grower     sleeps; then allocates 16 MiB of memory every 100 ms
 *   workers    four threads that work for 2 ms of every 8; then only on the last CPU
 *   forker     sleeps; then starts children one after the other, which run for 2 ms and exit
 *   poller     sleeps; then a thread polls for input without waiting
 *   zombies    sleeps; then starts 40 children that exit, without waiting for them
 *   stuck      sleeps; then a thread starts a child by vfork() that sleeps
 *   tail       six threads that work for 1 ms of every 8; then one of them works continuously
 *   demoted    a thread runs on the last CPU; then with the policy SCHED_IDLE
 *   rival      a thread runs on the last CPU; causes no problem
 *   idler      four threads that always sleep
 *   reader     reads FILE repeatedly; causes no problem
 *
 * Further kinds: cpu_troubles.c, memory_troubles.c, disk_troubles.c, peer_troubles.c.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "troubles.h"

enum { kBurners = 3, kLockers = 3, kWorkers = 4, kIdlers = 4, kMaxThreads = 4096 };
enum { kZombies = 40, kTailThreads = 6 };
enum { kGrowthBytes = 16 * 1024 * 1024 };

int64_t cpu_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

void run_for(int64_t ns) {
  const int64_t until = cpu_time() + ns;
  while (cpu_time() < until) {
  }
}

void sleep_for(int64_t ns) {
  const struct timespec pause = {.tv_sec = ns / kSecond, .tv_nsec = ns % kSecond};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

void pin_to_last_cpu(pthread_t thread) {
  cpu_set_t last;
  CPU_ZERO(&last);
  CPU_SET((int)sysconf(_SC_NPROCESSORS_ONLN) - 1, &last);
  check(pthread_setaffinity_np(thread, sizeof last, &last) == 0, "pthread_setaffinity_np");
}

void* sleep_forever(void* unused) {
  for (;;) pause();
  return unused;
}

void* run_forever(void* unused) {
  for (;;) {
  }
  return unused;
}

static void* serve(void* unused) {
  for (;;) {
    run_for(6 * kMs);
    sleep_for(4 * kMs);
  }
  return unused;
}

static void start_server(void) {
  pin_to_last_cpu(pthread_self());
  start(serve, NULL);
}

static void make_burner_run(void) {
  pin_to_last_cpu(pthread_self());
  for (int i = 0; i < kBurners; ++i) start(run_forever, NULL);
}

static pthread_mutex_t locks[kLockers];

static void* lock_and_work(void* argument) {
  for (;;) {
    pthread_mutex_t* const lock = has_trouble ? locks : argument;
    pthread_mutex_lock(lock);
    run_for(50 * kUs);
    pthread_mutex_unlock(lock);
    run_for(10 * kUs);
  }
  return argument;
}

static void start_convoy(void) {
  for (int i = 0; i < kLockers; ++i) {
    pthread_mutex_init(&locks[i], NULL);
    start(lock_and_work, &locks[i]);
  }
}

static void* write_repeatedly(void* unused) {
  static char bytes[kBlockBytes];
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  check(file >= 0, path);
  for (;;) {
    check(pwrite(file, bytes, sizeof bytes, 0) == sizeof bytes, "pwrite");
    if (has_trouble) check(fsync(file) == 0, "fsync");
    run_for(20 * kUs);
  }
  return unused;
}

static void start_syncer(void) { start(write_repeatedly, NULL); }

static void* leak_threads(void* unused) {
  for (int leaked = 0; leaked < kMaxThreads; ++leaked) {
    start(sleep_forever, NULL);
    if (leaked % 10 == 0) sleep_for(200 * kMs);
  }
  return unused;
}

static void make_leaker_leak(void) { start(leak_threads, NULL); }

static void* allocate_memory(void* unused) {
  for (;;) {
    char* const memory =
        mmap(NULL, kGrowthBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED, "mmap");
    memset(memory, 1, kGrowthBytes);
    sleep_for(100 * kMs);
  }
  return unused;
}

static void make_grower_grow(void) { start(allocate_memory, NULL); }

static pthread_t worker_threads[kWorkers];

static void* work(void* unused) {
  for (;;) {
    run_for(2 * kMs);
    sleep_for(6 * kMs);
  }
  return unused;
}

static void start_workers(void) {
  for (int i = 0; i < kWorkers; ++i) worker_threads[i] = start(work, NULL);
}

static void pin_workers(void) {
  for (int i = 0; i < kWorkers; ++i) pin_to_last_cpu(worker_threads[i]);
}

static void* fork_repeatedly(void* unused) {
  for (;;) {
    const pid_t child = fork();
    check(child >= 0, "fork");
    if (child == 0) {
      run_for(2 * kMs);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  return unused;
}

static void start_forking_thread(void) { start(fork_repeatedly, NULL); }

static void* poll_repeatedly(void* unused) {
  for (;;) poll(NULL, 0, 0);
  return unused;
}

static void start_polling_thread(void) { start(poll_repeatedly, NULL); }

static void create_zombies(void) {
  for (int i = 0; i < kZombies; ++i) {
    const pid_t child = fork();
    check(child >= 0, "fork");
    if (child == 0) _exit(0);
  }
}

/* vfork() blocks the parent until the child executes another program or exits. */
static void* wait_for_child(void* unused) {
  const pid_t child = vfork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  return unused;
}

static void block_in_vfork(void) { start(wait_for_child, NULL); }

static void* work_in_short_periods(void* argument) {
  for (;;) {
    run_for(kMs);
    if (!has_trouble || argument) sleep_for(7 * kMs);
  }
  return argument;
}

static void start_tail(void) {
  static int others;
  for (int i = 0; i < kTailThreads; ++i) start(work_in_short_periods, i == 0 ? NULL : &others);
}

static pthread_t demoted_thread;

static void start_demoted(void) {
  pin_to_last_cpu(pthread_self());
  demoted_thread = start(run_forever, NULL);
}

static void start_rival(void) {
  pin_to_last_cpu(pthread_self());
  start(run_forever, NULL);
}

static void set_idle_policy(void) {
  const struct sched_param none = {.sched_priority = 0};
  check(pthread_setschedparam(demoted_thread, SCHED_IDLE, &none) == 0, "pthread_setschedparam");
}

static void start_idler(void) {
  for (int i = 0; i < kIdlers; ++i) start(sleep_forever, NULL);
}

static void read_to_end(int file) {
  static char bytes[kBlockBytes];
  lseek(file, 0, SEEK_SET);
  while (read(file, bytes, sizeof bytes) > 0) {
  }
}

static int file_to_read;

static void* read_repeatedly(void* unused) {
  for (;;) {
    read_to_end(file_to_read);
    sleep_for(50 * kMs);
  }
  return unused;
}

/* Reads the file once before "ready", so that its page cache is charged to this cgroup. */
static void start_reader(void) {
  file_to_read = open(path, O_RDONLY | O_CLOEXEC);
  check(file_to_read >= 0, path);
  read_to_end(file_to_read);
  start(read_repeatedly, NULL);
}

static const struct kind kinds[] = {
    {"server", start_server, do_nothing},
    {"burner", do_nothing, make_burner_run},
    {"convoy", start_convoy, do_nothing},
    {"syncer", start_syncer, do_nothing},
    {"leaker", do_nothing, make_leaker_leak},
    {"grower", do_nothing, make_grower_grow},
    {"workers", start_workers, pin_workers},
    {"forker", do_nothing, start_forking_thread},
    {"poller", do_nothing, start_polling_thread},
    {"zombies", do_nothing, create_zombies},
    {"stuck", do_nothing, block_in_vfork},
    {"tail", start_tail, do_nothing},
    {"demoted", start_demoted, set_idle_policy},
    {"rival", start_rival, do_nothing},
    {"idler", start_idler, do_nothing},
    {"reader", start_reader, do_nothing},
    {NULL, NULL, NULL},
};

int main(int count, char** arguments) {
  const struct kind* const lists[] = {kinds, cpu_kinds, memory_kinds, disk_kinds, peer_kinds, NULL};
  return run_kind(lists, "troubles KIND NAME [FILE]", count, arguments);
}
