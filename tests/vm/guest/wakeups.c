/* Wake-ups: on the waker's CPU, on another CPU, by a waker that is about to sleep, and after a
 * migration. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "drives.h"

enum { kRounds = 40, kAsleepMs = 2 }; /* time for the partner to fall asleep */

/* The partner wakes the main thread. Each of them waits at its own gate first. */
static int to_main, to_partner, pipe_to_main[2], pipe_to_partner[2];

static void knock(int gate) {
  const uint64_t one = 1;
  check(write(gate, &one, sizeof one) == sizeof one, "eventfd");
}

static void wait_at(int gate) {
  uint64_t count;
  check(read(gate, &count, sizeof count) == sizeof count, "eventfd");
}

static void make_gates(void) {
  to_main = eventfd(0, EFD_CLOEXEC);
  to_partner = eventfd(0, EFD_CLOEXEC);
  check(to_main >= 0 && to_partner >= 0, "eventfd");
  check(pipe(pipe_to_main) == 0 && pipe(pipe_to_partner) == 0, "pipe");
}

static void wake_main(void) {
  for (int i = 0; i < kRounds; ++i) {
    wait_at(to_partner);
    sleep_ms(kAsleepMs);
    knock(to_main);
  }
}

static void be_woken(void) {
  for (int i = 0; i < kRounds; ++i) {
    knock(to_partner);
    wait_at(to_main);
  }
}

static void wake_main_from_cpu_0(void) {
  pin(0, 1);
  wake_main();
}

static void prepare_local(void) {
  make_gates();
  pin(0, 1);
  start_thread("vm-local+", wake_main_from_cpu_0);
}

static void prepare_remote(void) {
  make_gates();
  pin(0, 2);
  start_thread("vm-remote+", wake_main_from_cpu_0);
}

static void hear(int from) {
  char byte;
  check(read(from, &byte, 1) == 1, "pipe");
}

static void say(int to) { check(write(to, "", 1) == 1, "pipe"); }

static void answer_pipe(void) {
  pin(0, 1);
  for (int i = 0; i < kRounds; ++i) {
    hear(pipe_to_partner[0]);
    sleep_ms(kAsleepMs);
    say(pipe_to_main[1]);
  }
}

static void prepare_sync(void) {
  make_gates();
  pin(0, 1);
  start_thread("vm-sync+", answer_pipe);
}

static void be_woken_by_pipe(void) {
  for (int i = 0; i < kRounds; ++i) {
    say(pipe_to_partner[1]);
    hear(pipe_to_main[0]);
  }
}

/* Changes the CPU mask of the sleeping main thread, so that its next wake-up must migrate it. */
static void move_and_wake_main(void) {
  pin(0, 1);
  wait_at(to_partner);
  for (int i = 0; i < kRounds; ++i) {
    sleep_ms(kAsleepMs);
    pin(getpid(), i % 2 ? 1 : 2);
    knock(to_main);
  }
}

static void prepare_migrate(void) {
  make_gates();
  start_thread("vm-migrate+", move_and_wake_main);
}

static void be_moved(void) {
  knock(to_partner);
  for (int i = 0; i < kRounds; ++i) wait_at(to_main);
}

const struct Family kWakeups[] = {
    {"vm-local", "vm/rest", prepare_local, be_woken},
    {"vm-remote", "vm/rest", prepare_remote, be_woken},
    {"vm-sync", "vm/rest", prepare_sync, be_woken_by_pipe},
    {"vm-migrate", "vm/rest", prepare_migrate, be_moved},
    {0},
};
