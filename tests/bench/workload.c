// workload: activity of all kinds that a capture can show, for `tools/dev try`.
//
//   workload SECONDS
//
// Runs four processes, named after their activity: try-cpu computes, try-disk writes and syncs,
// try-sleep sleeps often and briefly, try-lock contends for a mutex. They wait for a line on
// standard input, work for SECONDS, then sleep until standard input ends. So a capture before the
// work and one after it both contain them, idle. Prints "ready" and "done" on standard output.

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { kThreads = 2, kRoles = 4, kBlockBytes = 256 << 10 };

typedef void (*Step)(void);

static pthread_mutex_t shared_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start;
static atomic_bool working = true;
static char block[kBlockBytes];

static void compute(void) {
  static _Thread_local volatile unsigned long sum;
  for (int i = 0; i < 100000; i++) sum += (unsigned long)i * sum + 1;
}

static void sleep_briefly(void) { usleep(500); }

static void write_and_sync(void) {
  char path[] = "/var/tmp/workload-XXXXXX";
  const int file = mkstemp(path);
  if (file < 0) {
    sleep_briefly();
    return;
  }
  unlink(path);
  if (write(file, block, sizeof block) > 0) fsync(file);
  close(file);
  sleep_briefly();
}

static void contend(void) {
  pthread_mutex_lock(&shared_mutex);
  usleep(100);
  pthread_mutex_unlock(&shared_mutex);
}

static const struct Role {
  const char* name;
  Step step;
} kRoleTable[kRoles] = {{"try-cpu", compute},
                        {"try-disk", write_and_sync},
                        {"try-sleep", sleep_briefly},
                        {"try-lock", contend}};

static void* work(void* role) {
  pthread_barrier_wait(&start);
  while (atomic_load(&working)) ((const struct Role*)role)->step();
  for (;;) pause();
  return NULL;
}

// Waits for a byte on `start_fd`, works for `seconds`, then sleeps.
static void run_role(const struct Role* role, int start_fd, unsigned seconds) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, role->name);
  pthread_barrier_init(&start, NULL, kThreads + 1);
  for (int i = 0; i < kThreads; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void*)role) != 0) _exit(1);
  }
  char byte;
  if (read(start_fd, &byte, 1) != 1) _exit(0);
  pthread_barrier_wait(&start);
  sleep(seconds);
  atomic_store(&working, false);
  for (;;) pause();
}

static void print_line(const char* word) {
  puts(word);
  fflush(stdout);
}

int main(int argc, char** argv) {
  const int seconds = argc == 2 ? atoi(argv[1]) : 0;
  int start_fd[2];
  if (seconds <= 0 || pipe(start_fd) != 0) return fprintf(stderr, "usage: workload SECONDS\n"), 2;
  memset(block, 'x', sizeof block);
  for (int i = 0; i < kRoles; i++) {
    if (fork() != 0) continue;
    close(start_fd[1]);
    run_role(&kRoleTable[i], start_fd[0], (unsigned)seconds);
  }
  usleep(100 * 1000);
  print_line("ready");
  char line;
  if (read(STDIN_FILENO, &line, 1) != 1) return 0;
  if (write(start_fd[1], "gogo", kRoles) != kRoles) return 1;
  sleep((unsigned)seconds + 1);
  print_line("done");
  while (read(STDIN_FILENO, &line, 1) > 0) {
  }
  return 0;
}
