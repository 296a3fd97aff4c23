// Creates processes or threads that exit, and records the last counters that each read of itself.
//
//   ends processes|threads COUNT FILE [FIFO]
//
// Each task computes, faults, reads, writes and sleeps for a while. The amounts depend on its
// number, so that no two tasks are alike. Then it reads its own counters, and exits without further
// work. With FIFO all tasks exist before another process writes a line to it, and work and exit
// after that. Without FIFO they are created one after the other.
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

enum { kIoCounters = 6, kPage = 4096, kMaxTasks = 4096 };
static const char* const kIoNames[kIoCounters] = {
    "rchar:", "wchar:", "syscr:", "syscw:", "\nread_bytes:", "\nwrite_bytes:"};

struct exiting_task {
  int number;
  int tid;
  struct timespec cpu;
  struct rusage read;
  unsigned long long io[kIoCounters];
  struct rusage waited;
  pthread_t thread;
};

static int start_pipe = -1;
static struct exiting_task* tasks;

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
  for (size_t offset = 0; offset < size; offset += kPage) pages[offset] = 1;
  for (int i = 0; i < number % 5; ++i) (void)!write(null, bytes, 100 * i);
  for (int i = 0; i < number % 6; ++i) (void)!read(zero, read_bytes, sizeof read_bytes);
  for (int i = 0; i < number % 4; ++i) nanosleep(&(struct timespec){0, 50000}, NULL);
  if (size) munmap(pages, size);
  close(null);
  close(zero);
}

// Reads the counters of the calling thread, and adds the read of the file itself: one call and its
// bytes.
static void read_self(struct exiting_task* exiting_task) {
  char text[512];
  exiting_task->tid = (int)syscall(SYS_gettid);
  getrusage(RUSAGE_THREAD, &exiting_task->read);
  const int io = open("/proc/thread-self/io", O_RDONLY);
  const ssize_t size = read(io, text, sizeof text - 1);
  text[size > 0 ? size : 0] = 0;
  for (int i = 0; i < kIoCounters; ++i) {
    const char* found = strstr(text, kIoNames[i]);
    exiting_task->io[i] = found ? strtoull(strchr(found, ':') + 1, NULL, 10) : 0;
  }
  exiting_task->io[0] += (unsigned long long)size;
  exiting_task->io[2] += 1;
  getrusage(RUSAGE_THREAD, &exiting_task->read);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &exiting_task->cpu);
}

static void* run_task(void* argument) {
  struct exiting_task* exiting_task = argument;
  char byte;
  if (start_pipe >= 0) (void)!read(start_pipe, &byte, 1);
  work(exiting_task->number);
  read_self(exiting_task);
  return NULL;
}

static void start(struct exiting_task* exiting_task, int threads) {
  if (threads) {
    if (pthread_create(&exiting_task->thread, NULL, run_task, exiting_task)) exit(1);
    return;
  }
  const pid_t pid = fork();
  if (pid < 0) exit(1);
  if (pid > 0) {
    exiting_task->tid = pid;
    return;
  }
  run_task(exiting_task);
  _exit(0);
}

// Waits until a task has exited. A process that was reported as exited still runs for a moment, so
// this waits 1 ms before wait4.
static void wait_for_exit(struct exiting_task* exiting_task, int threads) {
  siginfo_t info;
  if (threads) {
    pthread_join(exiting_task->thread, NULL);
    return;
  }
  waitid(P_PID, (id_t)exiting_task->tid, &info, WEXITED | WNOWAIT);
  nanosleep(&(struct timespec){0, 1000000}, NULL);
  if (wait4(exiting_task->tid, NULL, 0, &exiting_task->waited) < 0) exit(1);
}

static long long cpu_time_us(const struct rusage* usage) {
  return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000LL + usage->ru_utime.tv_usec +
         usage->ru_stime.tv_usec;
}

static void print(FILE* file, const struct exiting_task* exiting_task) {
  const struct rusage *read = &exiting_task->read, *waited = &exiting_task->waited;
  fprintf(file, "%d %lld %ld %ld %ld %ld", exiting_task->tid,
          exiting_task->cpu.tv_sec * 1000000000LL + exiting_task->cpu.tv_nsec, read->ru_minflt,
          read->ru_majflt, read->ru_nvcsw, read->ru_nivcsw);
  for (int i = 0; i < kIoCounters; ++i) fprintf(file, " %llu", exiting_task->io[i]);
  fprintf(file, " %lld %ld %ld %ld %ld\n", cpu_time_us(waited), waited->ru_minflt,
          waited->ru_majflt, waited->ru_nvcsw, waited->ru_nivcsw);
}

int main(int count, char** arguments) {
  const int number = count > 3 ? atoi(arguments[2]) : 0, threads = !strcmp(arguments[1], "threads");
  if (number < 1 || number > kMaxTasks) return 2;
  sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
  mlockall(MCL_CURRENT);
  tasks = mmap(NULL, sizeof *tasks * (size_t)number, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (count > 4) {
    int pipe_ends[2];
    char byte;
    if (pipe(pipe_ends)) return 1;
    start_pipe = pipe_ends[0];
    for (int i = 0; i < number; ++i) tasks[i].number = i, start(&tasks[i], threads);
    const int fifo = open(arguments[4], O_RDONLY);
    (void)!read(fifo, &byte, 1);
    for (int i = 0; i < number; ++i) (void)!write(pipe_ends[1], "", 1);
  }
  for (int i = 0; i < number; ++i) {
    tasks[i].number = i;
    if (start_pipe < 0) start(&tasks[i], threads);
    wait_for_exit(&tasks[i], threads);
  }
  FILE* file = fopen(arguments[3], "w");
  for (int i = 0; i < number; ++i) print(file, &tasks[i]);
  return fclose(file) != 0;
}
