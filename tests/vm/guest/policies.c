/* One thread for every policy, and for other scheduling attributes. Each computes a little, so that
 * its scheduling class has something to count. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drives.h"

enum { kPolicyDeadline = 6, kPolicyExt = 7, kSpinMs = 20, kRounds = 3 };

/* Argument of sched_setattr(2). The C library has neither the call nor the struct. */
struct attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

static int set_attributes(struct attributes wanted) {
  wanted.size = sizeof wanted;
  return (int)syscall(SYS_sched_setattr, 0, &wanted, 0);
}

static void set_or_fail(struct attributes wanted) {
  check(set_attributes(wanted) == 0, "sched_setattr");
}

static void set_fifo(void) {
  set_or_fail((struct attributes){.policy = SCHED_FIFO, .priority = 7});
}
static void set_round_robin(void) {
  set_or_fail((struct attributes){.policy = SCHED_RR, .priority = 3});
}
static void set_batch(void) { set_or_fail((struct attributes){.policy = SCHED_BATCH, .nice = 5}); }
static void set_idle(void) { set_or_fail((struct attributes){.policy = SCHED_IDLE}); }
static void set_deadline(void) {
  set_or_fail((struct attributes){
      .policy = kPolicyDeadline, .runtime = 10000000, .deadline = 50000000, .period = 100000000});
}
static void set_nice(void) { set_or_fail((struct attributes){.nice = -7}); }
static void set_slice(void) {
  set_or_fail((struct attributes){.runtime = 7000000});
} /* the slice, from Linux 6.12 on */
static void pin_to_cpu_1(void) { pin(0, 2); }

/* A kernel without sched_ext rejects this policy, and the thread keeps its own. */
static void set_ext(void) {
  check(set_attributes((struct attributes){.policy = kPolicyExt}) == 0 || errno == EINVAL,
        "SCHED_EXT");
}

static void compute(void) {
  for (int i = 0; i < kRounds; ++i) {
    spin_ms(kSpinMs);
    sleep_ms(1);
  }
}

const struct Family kPolicies[] = {
    {"vm-fifo", "vm/rest", set_fifo, compute},   {"vm-rr", "vm/rest", set_round_robin, compute},
    {"vm-batch", "vm/rest", set_batch, compute}, {"vm-idle", "vm/rest", set_idle, compute},
    {"vm-dl", "vm/rest", set_deadline, compute}, {"vm-nice", "vm/rest", set_nice, compute},
    {"vm-slice", "vm/rest", set_slice, compute}, {"vm-pinned", "vm/rest", pin_to_cpu_1, compute},
    {"vm-ext", "vm/rest", set_ext, compute},     {0},
};
