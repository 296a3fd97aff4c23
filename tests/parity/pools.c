/* pools: a process with two thread pools, "io-N" and "cpu-N", whose threads sleep until a command
 * makes them work.
 *
 * The first argument is the name of the process. Commands on standard input: "spin cpu 500" makes
 * each thread of a pool compute for 500 milliseconds; "wake io 5000" makes pairs of threads in a
 * pool wake each other 5000 times; "grow io 2" starts two more threads in a pool; "only" before
 * `spin` or `wake` leaves out the threads from the start. Answers each command with "done". Exits
 * at the end of standard input.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum { kPools = 2, kAtStart = 4, kMaxWorkers = 16 };

struct worker {
  const char* pool;
  int number;
  sem_t start_work, work_done, turn;
  struct worker* next; /* the worker that this one wakes */
  int spin_ms, wakes;
};

struct pool {
  const char* name;
  int count;
  struct worker workers[kMaxWorkers];
};

static struct pool pools[kPools] = {{.name = "io"}, {.name = "cpu"}};

static void spin(int milliseconds) {
  struct timespec now, end;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  end.tv_sec += milliseconds / 1000;
  end.tv_nsec += milliseconds % 1000 * 1000L * 1000L;
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

static void* run_worker(void* argument) {
  struct worker* self = argument;
  char name[16];
  snprintf(name, sizeof name, "%s-%d", self->pool, self->number);
  prctl(PR_SET_NAME, name);
  sem_post(&self->work_done);
  for (;;) {
    sem_wait(&self->start_work);
    spin(self->spin_ms);
    for (int i = 0; i < self->wakes; ++i) {
      sem_post(&self->next->turn);
      sem_wait(&self->turn);
    }
    sem_post(&self->work_done);
  }
  return NULL;
}

static void add_workers(struct pool* pool, int added) {
  for (; added > 0 && pool->count < kMaxWorkers; --added) {
    struct worker* worker = &pool->workers[pool->count];
    *worker = (struct worker){.pool = pool->name, .number = pool->count++};
    sem_init(&worker->start_work, 0, 0);
    sem_init(&worker->work_done, 0, 0);
    sem_init(&worker->turn, 0, 0);
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_worker, worker) != 0) exit(1);
    sem_wait(&worker->work_done);
  }
}

/* Pairs of threads wake each other. A thread without a partner wakes itself. */
static void run_workers(struct pool* pool, int first, int spin_ms, int wakes) {
  for (int i = first; i < pool->count; ++i) {
    struct worker* worker = &pool->workers[i];
    const int other = first + ((i - first) ^ 1);
    worker->next = other < pool->count ? &pool->workers[other] : worker;
    worker->spin_ms = spin_ms;
    worker->wakes = wakes;
  }
  for (int i = first; i < pool->count; ++i) sem_post(&pool->workers[i].start_work);
  for (int i = first; i < pool->count; ++i) sem_wait(&pool->workers[i].work_done);
}

static void execute_command(const char* line) {
  char verb[8], name[8];
  int number;
  const int first = strncmp(line, "only ", 5) == 0 ? kAtStart : 0;
  if (sscanf(line + (first ? 5 : 0), "%7s %7s %d", verb, name, &number) != 3) exit(2);
  struct pool* pool = &pools[strcmp(name, pools[0].name) == 0 ? 0 : 1];
  if (strcmp(verb, "grow") == 0)
    add_workers(pool, number);
  else
    run_workers(pool, first, strcmp(verb, "spin") == 0 ? number : 0,
                strcmp(verb, "wake") == 0 ? number : 0);
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  prctl(PR_SET_NAME, arguments[1]);
  for (int i = 0; i < kPools; ++i) add_workers(&pools[i], kAtStart);
  puts("ready");
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    execute_command(line);
    puts("done");
    fflush(stdout);
  }
  return 0;
}
