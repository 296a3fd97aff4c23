/* Programs whose problem is the use of CPUs. Kinds:
 *
 *   niced      a thread runs on the last CPU; then all threads of the process have nice 19
 *   realtime   a thread runs for 2 ms of every 8 on the last CPU; then always, with SCHED_FIFO
 *   yielder    four threads that wait by sleeping; then by calling sched_yield()
 *   timer      a thread that wakes up every 10 ms; then every 50 us
 *   herd       a thread wakes one of 24 every millisecond; then all of them
 *   crowd      sleeps; then 16 threads use all CPUs
 *   imbalance  four threads that each work for 2 ms of every 8; then one of them does all work
 *   hang       three threads that work for 2 ms of every 8; then wait for a missing answer
 *   churn      sleeps; then starts a thread for each piece of work of 200 us
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "troubles.h"

enum { kYielders = 4, kHerd = 24, kCrowd = 16, kBalanced = 4, kHanging = 3 };

static pthread_t pinned_thread;
static atomic_int pinned_tid;

static void* run_pinned(void* unused) {
  pinned_tid = gettid();
  return run_forever(unused);
}

static void start_niced(void) {
  pin_to_last_cpu(pthread_self());
  start(run_pinned, NULL);
  while (!pinned_tid) sched_yield();
}

static void lower_priority(void) {
  check(setpriority(PRIO_PROCESS, 0, 19) == 0, "setpriority");
  check(setpriority(PRIO_PROCESS, (id_t)pinned_tid, 19) == 0, "setpriority");
}

static void* work_or_run(void* unused) {
  while (!has_trouble) {
    run_for(2 * kMs);
    sleep_for(6 * kMs);
  }
  return run_forever(unused);
}

static void start_realtime(void) {
  pin_to_last_cpu(pthread_self());
  pinned_thread = start(work_or_run, NULL);
}

static void set_realtime_policy(void) {
  const struct sched_param priority = {.sched_priority = 1};
  check(pthread_setschedparam(pinned_thread, SCHED_FIFO, &priority) == 0, "pthread_setschedparam");
}

static void* wait_for_nothing(void* unused) {
  for (;;) {
    if (has_trouble)
      sched_yield();
    else
      sleep_for(10 * kMs);
  }
  return unused;
}

static void start_yielder(void) {
  for (int i = 0; i < kYielders; ++i) start(wait_for_nothing, NULL);
}

static void* wake_up_repeatedly(void* unused) {
  for (;;) sleep_for(has_trouble ? 50 * kUs : 10 * kMs);
  return unused;
}

static void start_timer(void) { start(wake_up_repeatedly, NULL); }

static pthread_mutex_t work_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static int pieces_of_work;

static void* take_work(void* unused) {
  for (;;) {
    pthread_mutex_lock(&work_lock);
    while (pieces_of_work == 0) pthread_cond_wait(&has_work, &work_lock);
    --pieces_of_work;
    pthread_mutex_unlock(&work_lock);
    run_for(50 * kUs);
  }
  return unused;
}

static void* provide_work(void* unused) {
  for (;;) {
    sleep_for(kMs);
    pthread_mutex_lock(&work_lock);
    ++pieces_of_work;
    pthread_mutex_unlock(&work_lock);
    if (has_trouble)
      pthread_cond_broadcast(&has_work);
    else
      pthread_cond_signal(&has_work);
  }
  return unused;
}

static void start_herd(void) {
  for (int i = 0; i < kHerd; ++i) start(take_work, NULL);
  start(provide_work, NULL);
}

static void start_crowd(void) {
  for (int i = 0; i < kCrowd; ++i) start(run_forever, NULL);
}

static void* work_in_turns(void* is_first) {
  for (;;) {
    const int has_all_work = has_trouble && is_first;
    if (!has_trouble || is_first) run_for(2 * kMs);
    if (!has_all_work) sleep_for(6 * kMs);
  }
  return is_first;
}

static void start_balanced(void) {
  static int first;
  for (int i = 0; i < kBalanced; ++i) start(work_in_turns, i == 0 ? &first : NULL);
}

static int answers[2];

static void* work_until_hang(void* unused) {
  char answer;
  while (!has_trouble) {
    run_for(2 * kMs);
    sleep_for(6 * kMs);
  }
  check(read(answers[0], &answer, 1) == 1, "read");
  return unused;
}

static void start_hang(void) {
  check(pipe(answers) == 0, "pipe");
  for (int i = 0; i < kHanging; ++i) start(work_until_hang, NULL);
}

static void* do_one_piece(void* unused) {
  run_for(200 * kUs);
  return unused;
}

static void* start_threads_repeatedly(void* unused) {
  for (;;) pthread_join(start(do_one_piece, NULL), NULL);
  return unused;
}

static void start_churn(void) { start(start_threads_repeatedly, NULL); }

const struct kind cpu_kinds[] = {
    {"niced", start_niced, lower_priority},    {"realtime", start_realtime, set_realtime_policy},
    {"yielder", start_yielder, do_nothing},    {"timer", start_timer, do_nothing},
    {"herd", start_herd, do_nothing},          {"crowd", do_nothing, start_crowd},
    {"imbalance", start_balanced, do_nothing}, {"hang", start_hang, do_nothing},
    {"churn", do_nothing, start_churn},        {NULL, NULL, NULL},
};
