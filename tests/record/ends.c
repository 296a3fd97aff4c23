// Creates processes or threads that exit, and records the last counters that each read of itself.
//
//   ends processes|threads COUNT FILE [FIFO]
//
// Each task computes, faults, reads, writes and sleeps for a while. The amounts depend on its
// number, so that no two tasks are alike. Then it reads its own counters, and exits without further
// work. With FIFO all tasks exist before somebody writes a line to it, and work and exit after
// that. Without FIFO they are created one after the other.
//
// With sufficient privileges the program uses real-time priority, so that no thread is preempted
// between its last read and its exit. It also locks its memory, so that no fault after that read
// causes readahead.
//
// FILE gets a line for each task: tid, CPU time in ns, minflt, majflt, voluntary and involuntary
// switches, rchar, wchar, syscr, syscw, read_bytes, write_bytes. The values of wait4 follow (zeros
// for threads): CPU time in us, minflt, majflt, voluntary and involuntary switches.

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kIo = 6, kPage = 4096, kMost = 4096 };
static const char* const kIoNames[kIo] = {
    "rchar:", "wchar:", "syscr:", "syscw:", "\nread_bytes:", "\nwrite_bytes:"};

struct one {
  int number;
  int tid;
  struct timespec cpu;
  struct rusage read;
  unsigned long long io[kIo];
  struct rusage waited;
  pthread_t thread;
};

static int go = -1;
static struct one* all;

static void spin(long us) {
  struct timespec now, start;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 < us);
}

static void work(int number) {
  const size_t size = (size_t)(number % 11) * 3 * kPage;
  static const char bytes[500];
  char read_bytes[64];
  const int null = open("/dev/null", O_WRONLY), zero = open("/dev/zero", O_RDONLY);
  spin(number % 7 * 300);
  char* pages = size ? mmap(NULL, size, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : NULL;
  for (size_t at = 0; at < size; at += kPage) pages[at] = 1;
  for (int i = 0; i < number % 5; ++i) (void)!write(null, bytes, 100 * i);
  for (int i = 0; i < number % 6; ++i) (void)!read(zero, read_bytes, sizeof read_bytes);
  for (int i = 0; i < number % 4; ++i) nanosleep(&(struct timespec){0, 50000}, NULL);
  if (size) munmap(pages, size);
  close(null);
  close(zero);
}

// Reads the counters of the calling thread, and adds the read of the file itself: one call and its
// bytes.
static void read_self(struct one* one) {
  char text[512];
  one->tid = (int)syscall(SYS_gettid);
  getrusage(RUSAGE_THREAD, &one->read);
  const int io = open("/proc/thread-self/io", O_RDONLY);
  const ssize_t size = read(io, text, sizeof text - 1);
  text[size > 0 ? size : 0] = 0;
  for (int i = 0; i < kIo; ++i) {
    const char* found = strstr(text, kIoNames[i]);
    one->io[i] = found ? strtoull(strchr(found, ':') + 1, NULL, 10) : 0;
  }
  one->io[0] += (unsigned long long)size;
  one->io[2] += 1;
  getrusage(RUSAGE_THREAD, &one->read);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &one->cpu);
}

static void* live(void* what) {
  struct one* one = what;
  char byte;
  if (go >= 0) (void)!read(go, &byte, 1);
  work(one->number);
  read_self(one);
  return NULL;
}

static void start(struct one* one, int threads) {
  if (threads) {
    if (pthread_create(&one->thread, NULL, live, one)) exit(1);
    return;
  }
  const pid_t pid = fork();
  if (pid < 0) exit(1);
  if (pid > 0) {
    one->tid = pid;
    return;
  }
  live(one);
  _exit(0);
}

// Waits until a task has exited. A process that was reported as exited still runs for a moment, so
// this waits 1 ms before wait4.
static void finish(struct one* one, int threads) {
  siginfo_t info;
  if (threads) {
    pthread_join(one->thread, NULL);
    return;
  }
  waitid(P_PID, (id_t)one->tid, &info, WEXITED | WNOWAIT);
  nanosleep(&(struct timespec){0, 1000000}, NULL);
  if (wait4(one->tid, NULL, 0, &one->waited) < 0) exit(1);
}

static long long us_of(const struct rusage* usage) {
  return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000LL + usage->ru_utime.tv_usec +
         usage->ru_stime.tv_usec;
}

static void print(FILE* file, const struct one* one) {
  const struct rusage *read = &one->read, *waited = &one->waited;
  fprintf(file, "%d %lld %ld %ld %ld %ld", one->tid,
          one->cpu.tv_sec * 1000000000LL + one->cpu.tv_nsec, read->ru_minflt, read->ru_majflt,
          read->ru_nvcsw, read->ru_nivcsw);
  for (int i = 0; i < kIo; ++i) fprintf(file, " %llu", one->io[i]);
  fprintf(file, " %lld %ld %ld %ld %ld\n", us_of(waited), waited->ru_minflt, waited->ru_majflt,
          waited->ru_nvcsw, waited->ru_nivcsw);
}

int main(int count, char** words) {
  const int number = count > 3 ? atoi(words[2]) : 0, threads = !strcmp(words[1], "threads");
  if (number < 1 || number > kMost) return 2;
  sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
  mlockall(MCL_CURRENT);
  all = mmap(NULL, sizeof *all * (size_t)number, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (count > 4) {
    int ends[2];
    char byte;
    if (pipe(ends)) return 1;
    go = ends[0];
    for (int i = 0; i < number; ++i) all[i].number = i, start(&all[i], threads);
    const int fifo = open(words[4], O_RDONLY);
    (void)!read(fifo, &byte, 1);
    for (int i = 0; i < number; ++i) (void)!write(ends[1], "", 1);
  }
  for (int i = 0; i < number; ++i) {
    all[i].number = i;
    if (go < 0) start(&all[i], threads);
    finish(&all[i], threads);
  }
  FILE* file = fopen(words[3], "w");
  for (int i = 0; i < number; ++i) print(file, &all[i]);
  return fclose(file) != 0;
}
