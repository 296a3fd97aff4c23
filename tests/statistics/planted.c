// A service with a fixed request rate, independent of its response time (open loop), whose requests
// can be made more expensive in four ways, and which measures itself.
//
//   planted FILE [REPORT]
//
// FILE contains a letter that names the condition and four factors, "a WORK HOLD PAGES NAPS", and
// is read before each burst: `echo b 1.2 1 1 1 > FILE` makes the work of a request 20 % longer; the
// other factors change the time that it holds the lock, the pages that it touches, and the number
// of its short sleeps.
//
// Eight requests arrive together, 12.5 times per second; each is handled by a thread of its own. A
// request takes the lock, sleeps 5 ms while holding it, like a request that writes a log, releases
// it, touches 50 new pages, sleeps ten times for 0.1 ms, and then works for 3 ms of CPU time. The
// total load is about 35 % of a CPU.
//
// Whenever the letter changes, the service appends a line to REPORT: the letter that ends, the
// time, and its totals until then: CPU time, page faults, voluntary context switches, and the time
// that its threads were blocked. Times are in ns.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { kRequestsPerBurst = 8, kPageBytes = 4096, kMaxThreads = 200 };
static const long long kNsPerSecond = 1000000000;
static const long long kBurstPeriodNs = 80000000;
static const double kWorkNs = 3e6, kHoldNs = 5e6, kPages = 50, kNaps = 10;
static const long long kNapNs = 100000;

struct factors {
  char condition;
  double work, hold, pages, naps;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Of the threads that ended: the time that they existed, and that they waited for a CPU.
static atomic_llong ended_wall_ns, ended_wait_ns;
// Of the threads that exist: their number, and the sum of the times when they started.
static atomic_llong threads, sum_of_starts_ns;

static long long clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

static struct timespec to_timespec(long long ns) {
  return (struct timespec){ns / kNsPerSecond, ns % kNsPerSecond};
}

// Returns the time that the calling thread waited for a CPU until now.
static long long read_wait_ns(void) {
  char text[128];
  long long run_ns = 0, wait_ns = 0;
  const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  text[size > 0 ? size : 0] = 0;
  return sscanf(text, "%lld %lld", &run_ns, &wait_ns) == 2 ? wait_ns : 0;
}

static void touch_pages(size_t pages) {
  if (pages == 0) return;
  char* memory =
      mmap(NULL, pages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  madvise(memory, pages * kPageBytes, MADV_NOHUGEPAGE);
  for (size_t page = 0; page < pages; ++page) ((volatile char*)memory)[page * kPageBytes] = 1;
  munmap(memory, pages * kPageBytes);
}

static void* handle_request(void* argument) {
  const struct factors factors = *(struct factors*)argument;
  free(argument);
  const long long start_ns = clock_ns(CLOCK_MONOTONIC);
  sum_of_starts_ns += start_ns;
  ++threads;
  const struct timespec hold = to_timespec((long long)(kHoldNs * factors.hold));
  pthread_mutex_lock(&lock);
  nanosleep(&hold, NULL);
  pthread_mutex_unlock(&lock);
  touch_pages((size_t)(kPages * factors.pages + 0.5));
  const struct timespec nap = to_timespec(kNapNs);
  for (int left = (int)(kNaps * factors.naps + 0.5); left > 0; --left) nanosleep(&nap, NULL);
  const long long end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + (long long)(kWorkNs * factors.work);
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) continue;
  ended_wait_ns += read_wait_ns();
  ended_wall_ns += clock_ns(CLOCK_MONOTONIC) - start_ns;
  sum_of_starts_ns -= start_ns;
  --threads;
  return NULL;
}

// Appends a line about the condition that ends now. The wait of threads that exist is not included.
static void write_totals(const char* path, char condition, long long start_ns) {
  FILE* file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  const long long now = clock_ns(CLOCK_MONOTONIC), cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  const long long wall_ns = now - start_ns + ended_wall_ns + threads * now - sum_of_starts_ns;
  fprintf(file, "%c %lld %lld %ld %ld %lld\n", condition, now, cpu_ns,
          used.ru_minflt + used.ru_majflt, used.ru_nvcsw,
          wall_ns - cpu_ns - ended_wait_ns - read_wait_ns());
  fclose(file);
}

// A file that is being written may lack factors: the previous ones remain.
static void read_factors(const char* path, struct factors* factors) {
  struct factors next;
  FILE* file = fopen(path, "r");
  if (!file) return;
  if (fscanf(file, "%c %lf %lf %lf %lf", &next.condition, &next.work, &next.hold, &next.pages,
             &next.naps) == 5)
    *factors = next;
  fclose(file);
}

// Drops a request beyond kMaxThreads: on a host that is busy for minutes, threads would accumulate.
static int start_request(pthread_attr_t* attributes, struct factors factors) {
  if (threads >= kMaxThreads) return 0;
  pthread_t thread;
  struct factors* argument = malloc(sizeof *argument);
  if (!argument) return ENOMEM;
  *argument = factors;
  return pthread_create(&thread, attributes, handle_request, argument);
}

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return fprintf(stderr, "usage: planted FILE [REPORT]\n"), 2;
  struct factors factors = {'-', 1, 1, 1, 1};
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  const long long first_ns = clock_ns(CLOCK_MONOTONIC);
  for (long long start_ns = first_ns;; start_ns += kBurstPeriodNs) {
    const struct timespec until = to_timespec(start_ns);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    const char condition = factors.condition;
    read_factors(argv[1], &factors);
    if (condition != factors.condition) write_totals(argv[2], condition, first_ns);
    for (int at = 0; at < kRequestsPerBurst; ++at)
      if (start_request(&detached, factors))
        return fprintf(stderr, "planted: cannot create a thread\n"), 1;
  }
}
