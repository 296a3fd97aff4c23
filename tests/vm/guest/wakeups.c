/* Wake-ups: on the waker's CPU, on another CPU, by a waker that is about to sleep, and after a
 * migration. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "drives.h"

enum { kRounds = 40, kPartnerSleepMs = 2 }; /* time for the partner to fall asleep */

/* The partner wakes the main thread. Each of them waits for its own eventfd first. */
static int to_main, to_partner, pipe_to_main[2], pipe_to_partner[2];

static void open_gate(int gate) {
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
    sleep_ms(kPartnerSleepMs);
    open_gate(to_main);
  }
}

static void wait_for_wakeups(void) {
  for (int i = 0; i < kRounds; ++i) {
    open_gate(to_partner);
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

static void read_byte(int from) {
  char byte;
  check(read(from, &byte, 1) == 1, "pipe");
}

static void write_byte(int to) { check(write(to, "", 1) == 1, "pipe"); }

static void reply_by_pipe(void) {
  pin(0, 1);
  for (int i = 0; i < kRounds; ++i) {
    read_byte(pipe_to_partner[0]);
    sleep_ms(kPartnerSleepMs);
    write_byte(pipe_to_main[1]);
  }
}

static void prepare_sync(void) {
  make_gates();
  pin(0, 1);
  start_thread("vm-sync+", reply_by_pipe);
}

static void wait_for_pipe_wakeups(void) {
  for (int i = 0; i < kRounds; ++i) {
    write_byte(pipe_to_partner[1]);
    read_byte(pipe_to_main[0]);
  }
}

/* Changes the CPU mask of the sleeping main thread, so that its next wake-up must migrate it. */
static void move_and_wake_main(void) {
  pin(0, 1);
  wait_at(to_partner);
  for (int i = 0; i < kRounds; ++i) {
    sleep_ms(kPartnerSleepMs);
    pin(getpid(), i % 2 ? 1 : 2);
    open_gate(to_main);
  }
}

static void prepare_migrate(void) {
  make_gates();
  start_thread("vm-migrate+", move_and_wake_main);
}

static void wait_for_migrations(void) {
  open_gate(to_partner);
  for (int i = 0; i < kRounds; ++i) wait_at(to_main);
}

const struct Family kWakeups[] = {
    {"vm-local", "vm/rest", prepare_local, wait_for_wakeups},
    {"vm-remote", "vm/rest", prepare_remote, wait_for_wakeups},
    {"vm-sync", "vm/rest", prepare_sync, wait_for_pipe_wakeups},
    {"vm-migrate", "vm/rest", prepare_migrate, wait_for_migrations},
    {0},
};
