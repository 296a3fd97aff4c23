// Clocks that can be set, to be loaded before the C library: as soon as there is a file of the name
// $CLOCKS_SET, an hour more on CLOCK_REALTIME, and a minute more on CLOCK_BOOTTIME, as after a
// suspend, which the wall clock counts too.
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
