// A thread that is no leader runs another program in its process's place: this one again.
//
//   takeover
//
// The thread uses 30 ms of CPU time, then, as the process, 20 ms more; the leader uses none. Prints
// the process's id.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static char** self;

static void spin(long ms) {
  struct timespec now;
  const long start =
      (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), now.tv_sec * 1000 + now.tv_nsec / 1000000);
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while (now.tv_sec * 1000 + now.tv_nsec / 1000000 - start < ms);
}

static void* take_over(void* unused) {
  char* words[] = {self[0], "again", NULL};
  spin(30);
  execv(self[0], words);
  return unused;
}

int main(int count, char** words) {
  pthread_t thread;
  self = words;
  if (count > 1) {
    spin(20);
    return 0;
  }
  printf("%d\n", (int)getpid());
  fflush(stdout);
  if (pthread_create(&thread, NULL, take_over, NULL)) return 1;
  return pthread_join(thread, NULL);
}
