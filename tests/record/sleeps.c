/* sleeps: threads that each wait in a different way, through the same four functions: main_of,
 * outer, middle, and one that is named after the way.
 *
 * `sleeps DIRECTORY` runs until standard input ends, and prints "ready" once all threads run. The
 * threads, by name: at_futex, at_pipe, at_nanosleep (sleeps of 10 ms), at_fsync, at_fault (on a
 * page of a file that is not in memory), at_poll (below 1,000 frames), at_large (below 60 frames of
 * 2 KiB), at_huge (below 10 frames of 32 KiB), several `crowd` threads that wait for a condition,
 * and one with the name "a) R 1 (b" that waits for a pipe.
 *
 * `sleeps come N` starts N threads, 20 at a time. Each sleeps twice and exits.
 *
 * `sleeps trap` has a thread whose stack is memory that is never filled in (userfaultfd): a reader
 * of it waits forever. It prints "ready". Where this is impossible, it prints why and exits with
 * status 77.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NO_INLINE __attribute__((noinline))
#else
#define NO_INLINE __attribute__((noinline, noclone))
#endif

enum { kCrowd = 24, kDepth = 1000, kLargeFrames = 60, kHugeFrames = 10 };

static pthread_mutex_t futex_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never_signalled = PTHREAD_COND_INITIALIZER;
static const char* directory;
static volatile int depth;

static int open_in(const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  int file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0) exit(1);
  return file;
}

static void nap(long ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

/* An empty statement after a call: it prevents a tail call, which would hide the caller's frame. */
#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")

NO_INLINE void at_futex(void) {
  pthread_mutex_lock(&futex_mutex);
  NO_TAIL_CALL;
}
NO_INLINE void at_pipe(void) {
  int ends[2];
  char c;
  if (pipe(ends) != 0 || read(ends[0], &c, 1) < 0) exit(1);
  NO_TAIL_CALL;
}
NO_INLINE void at_nanosleep(void) {
  for (;;) nap(10);
}
NO_INLINE void at_fsync(void) {
  int file = open_in("fsync");
  char page[4096];
  memset(page, 'x', sizeof page);
  for (;; page[0]++)
    if (pwrite(file, page, sizeof page, 0) < 0 || fsync(file) != 0) exit(1);
}
/* The file `fault`, whose pages at_fault waits for. */
enum { kFaultPages = 4096 };
static int fault_file;

static void make_fault_file(void) {
  static char page[4096];
  fault_file = open_in("fault");
  memset(page, 'x', sizeof page);
  for (long i = 0; i < kFaultPages; ++i)
    if (pwrite(fault_file, page, sizeof page, i * 4096) < 0) exit(1);
  fsync(fault_file);
}
/* Its only system calls are madvise and posix_fadvise, which drop all pages together and may wait
 * as well. */
NO_INLINE void at_fault(void) {
  volatile char* memory = mmap(NULL, kFaultPages * 4096L, PROT_READ, MAP_SHARED, fault_file, 0);
  madvise((void*)memory, kFaultPages * 4096L, MADV_RANDOM);
  for (long i = 0;; i = (i + 1) % kFaultPages) {
    if (i == 0) {
      madvise((void*)memory, kFaultPages * 4096L, MADV_DONTNEED);
      posix_fadvise(fault_file, 0, 0, POSIX_FADV_DONTNEED);
    }
    (void)memory[i * 4096];
  }
}
NO_INLINE void at_poll(void) {
  if (--depth > 0)
    at_poll();
  else
    poll(NULL, 0, -1);
  NO_TAIL_CALL;
}
/* Keeps the compiler from removing the frame. */
static void keep_frame(volatile char* frame) { __asm__ volatile("" : : "r"(frame) : "memory"); }
NO_INLINE void large_frame(int remaining) {
  volatile char frame[2048];
  keep_frame(frame);
  if (remaining > 1)
    large_frame(remaining - 1);
  else
    poll(NULL, 0, -1);
  NO_TAIL_CALL;
}
NO_INLINE void at_large(void) {
  large_frame(kLargeFrames);
  NO_TAIL_CALL;
}
NO_INLINE void huge_frame(int remaining) {
  volatile char frame[32 * 1024];
  keep_frame(frame);
  if (remaining > 1)
    huge_frame(remaining - 1);
  else
    poll(NULL, 0, -1);
  NO_TAIL_CALL;
}
NO_INLINE void at_huge(void) {
  huge_frame(kHugeFrames);
  NO_TAIL_CALL;
}
NO_INLINE void at_condition(void) {
  pthread_mutex_lock(&mutex);
  for (;;) pthread_cond_wait(&never_signalled, &mutex);
}

typedef void wait_function(void);

NO_INLINE void middle(wait_function* wait) {
  wait();
  NO_TAIL_CALL;
}
NO_INLINE void outer(wait_function* wait) {
  middle(wait);
  NO_TAIL_CALL;
}
NO_INLINE void* main_of(void* wait) {
  outer(*(wait_function**)wait);
  NO_TAIL_CALL;
  return NULL;
}

/* Starts a thread that executes `wait`. The copy of `wait` is not freed, because the thread may
 * read it at any time. */
static pthread_t start_thread(wait_function* wait, const char* name) {
  wait_function** wait_argument = malloc(sizeof wait);
  *wait_argument = wait;
  pthread_attr_t small;
  pthread_t thread;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 512 * 1024);
  if (pthread_create(&thread, &small, main_of, wait_argument) != 0) exit(1);
  pthread_setname_np(thread, name);
  return thread;
}

static void wait_for_end(void) {
  char c;
  puts("ready");
  fflush(stdout);
  while (read(STDIN_FILENO, &c, 1) > 0) continue;
  _exit(0);
}

static void start_all(void) {
  pthread_mutex_lock(&futex_mutex);
  depth = kDepth;
  make_fault_file();
  start_thread(at_futex, "at_futex");
  start_thread(at_pipe, "at_pipe");
  start_thread(at_nanosleep, "at_nanosleep");
  start_thread(at_fsync, "at_fsync");
  start_thread(at_fault, "at_fault");
  start_thread(at_poll, "at_poll");
  start_thread(at_large, "at_large");
  start_thread(at_huge, "at_huge");
  start_thread(at_pipe, "a) R 1 (b");
  for (int i = 0; i < kCrowd; ++i) start_thread(at_condition, "crowd");
  nap(300);
  wait_for_end();
}

NO_INLINE void at_nap(void) {
  nap(30);
  nap(30);
}

static int run_short_threads(int count) {
  enum { kConcurrentThreads = 20 };
  pthread_t threads[kConcurrentThreads];
  for (int done = 0; done < count; done += kConcurrentThreads) {
    for (int i = 0; i < kConcurrentThreads; ++i) threads[i] = start_thread(at_nap, "comes");
    for (int i = 0; i < kConcurrentThreads; ++i) pthread_join(threads[i], NULL);
  }
  return 0;
}

#ifdef __x86_64__
/* Sleeps in the kernel with the stack pointer in `stack`. */
static void* sleep_on(void* stack) {
  __asm__ volatile(
      "mov %0, %%rsp\n"
      "1: mov $34, %%eax\n" /* pause */
      "syscall\n"
      "jmp 1b\n"
      :
      : "r"(stack)
      : "memory");
  return NULL;
}

static int block_stack_readers(void) {
  struct uffdio_api api = {.api = UFFD_API};
  int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0) {
    perror("userfaultfd");
    return 77;
  }
  const size_t size = 1 << 20;
  char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct uffdio_register all = {.range = {(unsigned long)memory, size},
                                .mode = UFFDIO_REGISTER_MODE_MISSING};
  if (ioctl(faults, UFFDIO_REGISTER, &all) != 0) return 77;
  pthread_t thread;
  if (pthread_create(&thread, NULL, sleep_on, memory + size / 2) != 0) return 1;
  pthread_setname_np(thread, "trap");
  nap(100);
  wait_for_end();
  return 0;
}
#else
static int trap(void) { return 77; }
#endif

int main(int count, char** arguments) {
  prctl(PR_SET_PDEATHSIG, 9);
  if (count == 3 && strcmp(arguments[1], "come") == 0) return run_short_threads(atoi(arguments[2]));
  if (count == 2 && strcmp(arguments[1], "trap") == 0) return block_stack_readers();
  if (count != 2) return 2;
  directory = arguments[1];
  start_all();
}
