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
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kBurners = 3, kLockers = 3, kWorkers = 4, kIdlers = 4, kMostThreads = 4096 };
enum { kZombies = 40, kAlike = 6 };
enum { kBlock = 64 * 1024, kGrowth = 16 * 1024 * 1024 };
static const int64_t kUs = 1000, kMs = 1000 * 1000, kSecond = 1000 * 1000 * 1000;

static const char* path;
static atomic_int troubled;

static void check(int is_so, const char* what) {
  if (is_so) return;
  perror(what);
  _exit(1);
}

static int64_t cpu_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

static void run_for(int64_t ns) {
  const int64_t until = cpu_time() + ns;
  while (cpu_time() < until) {
  }
}

static void sleep_for(int64_t ns) {
  const struct timespec pause = {.tv_sec = ns / kSecond, .tv_nsec = ns % kSecond};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static void pin_to_last_cpu(pthread_t thread) {
  cpu_set_t last;
  CPU_ZERO(&last);
  CPU_SET((int)sysconf(_SC_NPROCESSORS_ONLN) - 1, &last);
  check(pthread_setaffinity_np(thread, sizeof last, &last) == 0, "pthread_setaffinity_np");
}

static pthread_t start(void* (*life)(void*), void* argument) {
  pthread_t thread;
  check(pthread_create(&thread, NULL, life, argument) == 0, "pthread_create");
  return thread;
}

static void* asleep(void* unused) {
  for (;;) pause();
  return unused;
}

static void* burn(void* unused) {
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

static void server(void) {
  pin_to_last_cpu(pthread_self());
  start(serve, NULL);
}

static void burner_in_trouble(void) {
  pin_to_last_cpu(pthread_self());
  for (int i = 0; i < kBurners; ++i) start(burn, NULL);
}

static pthread_mutex_t locks[kLockers];

static void* lock_and_work(void* own) {
  for (;;) {
    pthread_mutex_t* const lock = troubled ? locks : own;
    pthread_mutex_lock(lock);
    run_for(50 * kUs);
    pthread_mutex_unlock(lock);
    run_for(10 * kUs);
  }
  return own;
}

static void convoy(void) {
  for (int i = 0; i < kLockers; ++i) {
    pthread_mutex_init(&locks[i], NULL);
    start(lock_and_work, &locks[i]);
  }
}

static void* write_again(void* unused) {
  static char bytes[kBlock];
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  check(file >= 0, path);
  for (;;) {
    check(pwrite(file, bytes, sizeof bytes, 0) == sizeof bytes, "pwrite");
    if (troubled) check(fsync(file) == 0, "fsync");
    run_for(20 * kUs);
  }
  return unused;
}

static void syncer(void) { start(write_again, NULL); }

static void* leak_threads(void* unused) {
  for (int leaked = 0; leaked < kMostThreads; ++leaked) {
    start(asleep, NULL);
    if (leaked % 10 == 0) sleep_for(200 * kMs);
  }
  return unused;
}

static void leaker_in_trouble(void) { start(leak_threads, NULL); }

static void* take_memory(void* unused) {
  for (;;) {
    char* const memory =
        mmap(NULL, kGrowth, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED, "mmap");
    memset(memory, 1, kGrowth);
    sleep_for(100 * kMs);
  }
  return unused;
}

static void grower_in_trouble(void) { start(take_memory, NULL); }

static pthread_t working[kWorkers];

static void* work(void* unused) {
  for (;;) {
    run_for(2 * kMs);
    sleep_for(6 * kMs);
  }
  return unused;
}

static void workers(void) {
  for (int i = 0; i < kWorkers; ++i) working[i] = start(work, NULL);
}

static void workers_in_trouble(void) {
  for (int i = 0; i < kWorkers; ++i) pin_to_last_cpu(working[i]);
}

static void* fork_on(void* unused) {
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

static void forker_in_trouble(void) { start(fork_on, NULL); }

static void* poll_on(void* unused) {
  for (;;) poll(NULL, 0, 0);
  return unused;
}

static void poller_in_trouble(void) { start(poll_on, NULL); }

static void zombies_in_trouble(void) {
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

static void stuck_in_trouble(void) { start(wait_for_child, NULL); }

static void* work_a_little(void* own) {
  for (;;) {
    run_for(kMs);
    if (!troubled || own) sleep_for(7 * kMs);
  }
  return own;
}

static void tail(void) {
  static int others;
  for (int i = 0; i < kAlike; ++i) start(work_a_little, i == 0 ? NULL : &others);
}

static pthread_t demoted_thread;

static void demoted(void) {
  pin_to_last_cpu(pthread_self());
  demoted_thread = start(burn, NULL);
}

static void rival(void) {
  pin_to_last_cpu(pthread_self());
  start(burn, NULL);
}

static void demoted_in_trouble(void) {
  const struct sched_param none = {.sched_priority = 0};
  check(pthread_setschedparam(demoted_thread, SCHED_IDLE, &none) == 0, "pthread_setschedparam");
}

static void idler(void) {
  for (int i = 0; i < kIdlers; ++i) start(asleep, NULL);
}

static void read_whole(int file) {
  static char bytes[kBlock];
  lseek(file, 0, SEEK_SET);
  while (read(file, bytes, sizeof bytes) > 0) {
  }
}

static int reread;

static void* read_again(void* unused) {
  for (;;) {
    read_whole(reread);
    sleep_for(50 * kMs);
  }
  return unused;
}

/* Reads the file once before "ready", so that its page cache is charged to this cgroup. */
static void reader(void) {
  reread = open(path, O_RDONLY | O_CLOEXEC);
  check(reread >= 0, path);
  read_whole(reread);
  start(read_again, NULL);
}

static void nothing(void) {}

struct kind {
  const char* name;
  void (*begin)(void);
  void (*trouble)(void); /* in addition to setting `has_trouble` */
};

static const struct kind kinds[] = {
    {"server", server, nothing},
    {"burner", nothing, burner_in_trouble},
    {"convoy", convoy, nothing},
    {"syncer", syncer, nothing},
    {"leaker", nothing, leaker_in_trouble},
    {"grower", nothing, grower_in_trouble},
    {"workers", workers, workers_in_trouble},
    {"forker", nothing, forker_in_trouble},
    {"poller", nothing, poller_in_trouble},
    {"zombies", nothing, zombies_in_trouble},
    {"stuck", nothing, stuck_in_trouble},
    {"tail", tail, nothing},
    {"demoted", demoted, demoted_in_trouble},
    {"rival", rival, nothing},
    {"idler", idler, nothing},
    {"reader", reader, nothing},
    {NULL, NULL, NULL},
};

static const struct kind* kind_of(const char* wanted) {
  const struct kind* kind = kinds;
  while (kind->name && strcmp(kind->name, wanted) != 0) ++kind;
  return kind->name ? kind : NULL;
}

static void say(const char* word) {
  puts(word);
  fflush(stdout);
}

int main(int count, char** words) {
  char line[64];
  const struct kind* const kind = count >= 3 ? kind_of(words[1]) : NULL;
  if (!kind) {
    fputs("usage: troubles KIND NAME [FILE]\n", stderr);
    return 2;
  }
  path = count > 3 ? words[3] : NULL;
  prctl(PR_SET_NAME, words[2]);
  kind->begin();
  say("ready");
  while (fgets(line, sizeof line, stdin)) {
    atomic_store(&troubled, 1);
    kind->trouble();
    say("done");
  }
  _exit(0);
}
