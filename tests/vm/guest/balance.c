/* The load balancer: threads that it may not move, and threads that it prefers not to move.
 * workload.sh makes every cache count as warm: the balancer then refuses to move a thread, and
 * forces the move after a few failures. */
#include <semaphore.h>

#include "drives.h"

enum { kHelpers = 3, kSpinMs = 1500 };

static sem_t start_work, done;
static unsigned mask_for_work;

static void compute(void) {
  pin(0, mask_for_work);
  spin_ms(kSpinMs);
}

static void run_helper(void) {
  check(sem_wait(&start_work) == 0, "sem_wait");
  compute();
  check(sem_post(&done) == 0, "sem_post");
}

/* All threads start on CPU 0. */
static void prepare(const char* name, unsigned mask) {
  mask_for_work = mask;
  check(sem_init(&start_work, 0, 0) == 0 && sem_init(&done, 0, 0) == 0, "sem_init");
  pin(0, 1);
  for (int i = 0; i < kHelpers; ++i) start_thread(name, run_helper);
}

static void prepare_pinned(void) { prepare("vm-held+", 1); }
static void prepare_hot(void) { prepare("vm-hot+", kBothCpus); }

static void work(void) {
  for (int i = 0; i < kHelpers; ++i) check(sem_post(&start_work) == 0, "sem_post");
  compute();
  for (int i = 0; i < kHelpers; ++i) check(sem_wait(&done) == 0, "sem_wait");
}

const struct Family kBalance[] = {
    {"vm-held", "vm/rest", prepare_pinned, work}, {"vm-hot", "vm/rest", prepare_hot, work}, {0}};
