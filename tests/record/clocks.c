// A library for LD_PRELOAD that changes clocks. As soon as the file $CLOCKS_SET exists,
// CLOCK_REALTIME is ahead by an hour and a minute, and CLOCK_BOOTTIME by a minute. The minute
// represents a suspend, which both clocks count.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kHour = 3600, kMinute = 60 };

int clock_gettime(clockid_t clock, struct timespec* time) {
  const char* set = getenv("CLOCKS_SET");
  const long failed = syscall(SYS_clock_gettime, clock, time);
  if (failed || !set || access(set, F_OK) != 0) return (int)failed;
  if (clock == CLOCK_REALTIME) time->tv_sec += kHour + kMinute;
  if (clock == CLOCK_BOOTTIME) time->tv_sec += kMinute;
  return 0;
}
