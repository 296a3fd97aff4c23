/* Limits of cgroups that workload.sh has set: a quota of CPU time, a quota with bursts, and a limit
 * on the number of processes. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drives.h"

enum { kSpinMs = 400, kSaveMs = 150, kBurstMs = 30, kTries = 4 };

static void exceed_quota(void) { spin_ms(kSpinMs); }

static void run_bursts(void) {
  for (int i = 0; i < 3; ++i) {
    sleep_ms(kSaveMs);
    spin_ms(kBurstMs);
  }
}

/* The cgroup may contain two processes: this one and one more. */
static void exceed_pids_limit(void) {
  pid_t children[kTries];
  int count = 0;
  for (int i = 0; i < kTries; ++i) {
    const pid_t child = fork();
    if (child == 0) sleep_forever();
    check(child > 0 || errno == EAGAIN, "fork");
    if (child > 0) children[count++] = child;
  }
  check(count < kTries, "pids.max");
  for (int i = 0; i < count; ++i) {
    kill(children[i], SIGKILL);
    waitpid(children[i], NULL, 0);
  }
}

const struct Family kGroups[] = {{"vm-throttled", "vm/throttled", NULL, exceed_quota},
                                 {"vm-burst", "vm/burst", NULL, run_bursts},
                                 {"vm-pids", "vm/pids", NULL, exceed_pids_limit},
                                 {0}};
