/* Programs whose problem is a disk. Kinds:
 *
 *   scanner  reads 64 KiB of FILE every 10 ms; then all of FILE, without its page cache
 *   lookups  reads 4 KiB at a random position from the disk every 2 ms; causes no problem
 *   bulk     sleeps; then two threads write large blocks to the disk
 *   logger   four threads write lines to FILE, one at a time; then they sync each line and queue
 *            behind the thread that does so
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "troubles.h"

enum {
  kFileBytes = 128 << 20,
  kLargeBlock = 1 << 20,
  kSmallBlock = 4096,
  kLoggers = 4,
  kWorkPerSync = 4
};

/* Returns the open file PATH.SUFFIX. */
static int open_file(const char* suffix, int flags) {
  char name[4096];
  snprintf(name, sizeof name, "%s.%s", path, suffix);
  const int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0600);
  check(file >= 0, name);
  return file;
}

static char* aligned_block(size_t bytes) {
  char* const block = aligned_alloc(kSmallBlock, bytes);
  check(block != NULL, "aligned_alloc");
  memset(block, 1, bytes);
  return block;
}

static void fill_file(int file) {
  char* const block = aligned_block(kLargeBlock);
  for (int written = 0; written < kFileBytes; written += kLargeBlock)
    check(write(file, block, kLargeBlock) == kLargeBlock, "write");
  check(fsync(file) == 0, "fsync");
  free(block);
}

static int scanned_file;

static void* scan(void* unused) {
  static char bytes[kBlockBytes];
  for (;;) {
    lseek(scanned_file, 0, SEEK_SET);
    if (!has_trouble) {
      check(read(scanned_file, bytes, sizeof bytes) > 0, "read");
      sleep_for(10 * kMs);
      continue;
    }
    while (read(scanned_file, bytes, sizeof bytes) > 0) {
    }
    posix_fadvise(scanned_file, 0, 0, POSIX_FADV_DONTNEED);
  }
  return unused;
}

static void start_scanner(void) {
  scanned_file = open_file("scanned", 0);
  fill_file(scanned_file);
  start(scan, NULL);
}

static void remove_from_cache(void) { posix_fadvise(scanned_file, 0, 0, POSIX_FADV_DONTNEED); }

static int searched_file;

static void* look_up(void* unused) {
  char* const block = aligned_block(kSmallBlock);
  unsigned random = 1;
  for (;;) {
    const off_t at = (off_t)(rand_r(&random) % (kFileBytes / kSmallBlock)) * kSmallBlock;
    check(pread(searched_file, block, kSmallBlock, at) == kSmallBlock, "pread");
    sleep_for(2 * kMs);
  }
  return unused;
}

static void start_lookups(void) {
  searched_file = open_file("lookups", O_DIRECT);
  fill_file(searched_file);
  start(look_up, NULL);
}

static void* write_in_bulk(void* number) {
  const int file = open_file(number ? "bulk1" : "bulk2", O_DIRECT);
  char* const block = aligned_block(kLargeBlock);
  for (off_t at = 0;; at = (at + kLargeBlock) % kFileBytes)
    check(pwrite(file, block, kLargeBlock, at) == kLargeBlock, "pwrite");
  return number;
}

static void start_bulk(void) {
  static int second;
  start(write_in_bulk, NULL);
  start(write_in_bulk, &second);
}

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int log_file;

/* Returns how long the thread has waited for a CPU, in ns. */
static int64_t delay_time(void) {
  char text[128] = "";
  unsigned long long run = 0, wait = 0;
  const int stats = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  check(stats >= 0 && read(stats, text, sizeof text - 1) > 0, "schedstat");
  close(stats);
  check(sscanf(text, "%llu %llu", &run, &wait) == 2, "schedstat");
  return (int64_t)wait;
}

static int64_t blocked_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecond + now.tv_nsec - cpu_time() - delay_time();
}

static void write_line(void) {
  static const char line[] = "12:00:00 a request was served in 0.2 ms\n";
  check(write(log_file, line, sizeof line - 1) == sizeof line - 1, "write");
}

/* Then works for four times as long as the sync blocked the holder of the lock. So the holder is
 * blocked for a tenth to a fifth of the time, however fast the disk is: the bytes that it writes
 * are a smaller problem than the threads that wait for the lock. */
static void sync_line(void) {
  const int64_t before = blocked_time();
  check(fsync(log_file) == 0, "fsync");
  run_for(kWorkPerSync * (blocked_time() - before));
}

static void* write_lines(void* unused) {
  for (;;) {
    if (!has_trouble) run_for(100 * kUs);
    pthread_mutex_lock(&log_lock);
    write_line();
    if (has_trouble) sync_line();
    pthread_mutex_unlock(&log_lock);
    sleep_for(has_trouble ? 100 * kUs : kMs); /* another thread gets the lock */
  }
  return unused;
}

static void start_logger(void) {
  log_file = open_file("log", O_APPEND);
  for (int i = 0; i < kLoggers; ++i) start(write_lines, NULL);
}

const struct kind disk_kinds[] = {
    {"scanner", start_scanner, remove_from_cache},
    {"lookups", start_lookups, do_nothing},
    {"bulk", do_nothing, start_bulk},
    {"logger", start_logger, do_nothing},
    {NULL, NULL, NULL},
};
