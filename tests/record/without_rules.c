/* A program whose libc has no call frame information if musl-gcc compiles it. It copies, sorts,
 * sleeps and polls, and has a thread that waits. With an argument it waits inside vfork(2) instead.
 * */

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NO_INLINE __attribute__((noinline, noclone))
#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")

static char from[1 << 20], to[1 << 20];

static int compare(const void* a, const void* b) { return *(const char*)a - *(const char*)b; }
NO_INLINE static void copies(void) {
  for (int i = 0; i < 200; ++i) memcpy(to, from, sizeof to - (i & 7));
  NO_TAIL_CALL;
}
NO_INLINE static void sorts(void) {
  qsort(to, 3000, 1, compare);
  NO_TAIL_CALL;
}
NO_INLINE static void sleeps(void) {
  usleep(3000);
  NO_TAIL_CALL;
}
NO_INLINE static void polls(void) {
  poll(0, 0, 3);
  NO_TAIL_CALL;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void* waiter(void* nothing) {
  pthread_mutex_lock(&mutex);
  for (;;) pthread_cond_wait(&condition, &mutex);
  return nothing;
}

NO_INLINE static void spawns(void) {
  if (vfork() == 0) {
    usleep(300000);
    _exit(0);
  }
  NO_TAIL_CALL;
}

int main(int count, char** arguments) {
  pthread_t thread;
  (void)arguments;
  pthread_create(&thread, 0, waiter, 0);
  for (;;) {
    if (count > 1) {
      spawns();
    } else {
      copies();
      sorts();
      sleeps();
      polls();
    }
  }
}
