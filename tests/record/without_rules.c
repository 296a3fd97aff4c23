/* A program whose libc has no call frame information if musl-gcc compiles it. It copies, sorts,
 * sleeps and polls, and has a thread that waits. With the argument `vfork` it waits inside vfork(2)
 * instead, and with `vforks` it calls that continuously.
 */

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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

NO_INLINE static void spawns(int child_us) {
  const pid_t child = vfork();
  if (child == 0) {
    if (child_us > 0) usleep(child_us);
    _exit(0);
  }
  waitpid(child, 0, 0);
  NO_TAIL_CALL;
}

int main(int count, char** arguments) {
  pthread_t thread;
  pthread_create(&thread, 0, waiter, 0);
  for (;;) {
    if (count > 1) {
      spawns(strcmp(arguments[1], "vforks") == 0 ? 0 : 300000);
    } else {
      copies();
      sorts();
      sleeps();
      polls();
    }
  }
}
