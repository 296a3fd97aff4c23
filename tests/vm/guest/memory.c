/* Lack of memory: reclaim at a limit, swapping out and in, a working set that does not fit, copies
 * on write, and free memory in pieces that are too small for a request. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drives.h"

enum {
  kMegabyte = 256,
  kSwapped = 12 * kMegabyte,
  kLimited = 12 * kMegabyte,
  kHalfPages = 9 * kMegabyte / 2,
  kMaxRounds = 30,
  kMinRefaults = 200,
  kCopied = 2000
};
enum { kSpareKib = 16 * 1024, kHugePages = 40, kPagesPerHugePage = 512 };

static char* memory;

/* workload.sh limits these cgroups to 8 MiB. */
static void prepare_limit(void) { memory = map_anonymous_pages(kLimited); }
static void reach_the_limit(void) { touch_pages(memory, kLimited, 1); }

static void prepare_swap(void) {
  memory = map_anonymous_pages(kSwapped);
  madvise(memory, (size_t)kSwapped * kPage, MADV_RANDOM); /* page by page, without read-ahead */
}

static void swap_out_and_in(void) {
  for (char byte = 1; byte <= 2; ++byte) touch_pages(memory, kSwapped, byte);
}

/* The cgroup has memory for three quarters of a file. Each half is read twice, which makes it the
 * working set, and then the other half replaces it. Waiting for such a page to return is thrashing.
 * How many rounds a kernel needs to detect the working set varies. */
static void prepare_thrash(void) { fill_file("/disk/set", 2 * kHalfPages); }

static long value_in(const char* path, const char* key) {
  char text[8192] = {0};
  const int file = open(path, O_RDONLY);
  check(file >= 0 && read(file, text, sizeof text - 1) > 0, path);
  close(file);
  const char* const line = strstr(text, key);
  return line ? strtol(line + strlen(key), NULL, 10) : 0;
}

static int has_thrashed(void) {
  return value_in("/sys/fs/cgroup/vm/thrash/memory.stat", "workingset_restore_file ") >
         kMinRefaults;
}

static void read_half(int file, int half) {
  char page[kPage];
  for (int i = 0; i < 2 * kHalfPages; ++i) {
    const off_t number = half * kHalfPages + i % kHalfPages;
    check(pread(file, page, sizeof page, number * kPage) == sizeof page, "pread");
  }
}

static void thrash(void) {
  const int file = open("/disk/set", O_RDONLY);
  check(file >= 0 && posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM) == 0, "/disk/set");
  for (int i = 0; i < kMaxRounds && !has_thrashed(); ++i) read_half(file, i % 2);
  close(file);
}

static void copy_on_write(void) {
  memory = map_anonymous_pages(kCopied);
  touch_pages(memory, kCopied, 1);
  const pid_t child = fork();
  check(child >= 0, "fork");
  if (child == 0) sleep_forever();
  touch_pages(memory, kCopied, 2);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

/* Turns all free memory into single pages between used ones, and then requests pages of 2 MiB, for
 * which the kernel must move pages. */
static void compact(void) {
  drop_page_cache();
  const size_t pages = (size_t)(value_in("/proc/meminfo", "MemFree:") - kSpareKib) * 1024 / kPage;
  memory = map_anonymous_pages(pages);
  touch_pages(memory, pages, 1);
  for (size_t i = 0; i < pages; i += 2) madvise(memory + i * kPage, kPage, MADV_DONTNEED);
  char* const huge = map_anonymous_pages((size_t)kHugePages * kPagesPerHugePage);
  check(madvise(huge, (size_t)kHugePages * kPagesPerHugePage * kPage, MADV_HUGEPAGE) == 0,
        "MADV_HUGEPAGE");
  touch_pages(huge, (size_t)kHugePages * kPagesPerHugePage, 1);
  munmap(huge, (size_t)kHugePages * kPagesPerHugePage * kPage);
  munmap(memory, pages * kPage);
}

const struct Family kMemory[] = {
    {"vm-limit", "vm/limit", prepare_limit, reach_the_limit},
    {"vm-swap", "vm/swap", prepare_swap, swap_out_and_in},
    {"vm-thrash", "vm/thrash", prepare_thrash, thrash},
    {"vm-cow", "vm/rest", NULL, copy_on_write},
    {"vm-compact", "vm/rest", NULL, compact},
    {0},
};
