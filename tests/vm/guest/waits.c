/* Waiting for a time, a disk, a page or a CPU, with reads and writes of files. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drives.h"

enum {
  kSyncs = 40,
  kReads = 100,
  kMinStallUs = 400 * 1000,
  kMaxReads = 1000 * 1000,
  kFilePages = 512,
  kSpinMs = 400,
  kSystemMs = 150,
  kSleepMs = 300
};

static void sleep_long(void) { sleep_ms(kSleepMs); }

static void sync_often(void) {
  char page[kPage];
  memset(page, 'x', sizeof page);
  const int file = open("/disk/synced", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  check(file >= 0, "/disk/synced");
  for (int i = 0; i < kSyncs; ++i)
    check(pwrite(file, page, sizeof page, (off_t)i * kPage) == kPage && fsync(file) == 0, "fsync");
  close(file);
}

static void prepare_direct(void) { fill_file("/disk/direct", kFilePages); }

/* Returns for how long since boot all tasks of this cgroup waited for a disk. */
static long read_stalled_us(void) {
  char text[512] = {0};
  const int file = open("/sys/fs/cgroup/vm/io/io.pressure", O_RDONLY);
  check(file >= 0 && read(file, text, sizeof text - 1) > 0, "io.pressure");
  close(file);
  const char* const full = strstr(text, "full");
  const char* const total = full ? strstr(full, "total=") : NULL;
  check(total != NULL, "io.pressure's full total");
  return strtol(total + strlen("total="), NULL, 10);
}

/* Reads until the average of five minutes, which has a resolution of 0.01 %, is above zero. A fast
 * disk needs more reads for this than a slow one. */
static void read_past_the_cache(void) {
  void* block;
  check(posix_memalign(&block, kPage, kPage) == 0, "posix_memalign");
  const int file = open("/disk/direct", O_RDONLY | O_DIRECT);
  check(file >= 0, "/disk/direct");
  for (int i = 0; i < kMaxReads && (i % kReads != 0 || i == 0 || read_stalled_us() < kMinStallUs);
       ++i)
    check(pread(file, block, kPage, (off_t)(i % kFilePages) * kPage) == kPage, "pread");
  close(file);
  free(block);
}

static void prepare_faults(void) { fill_file("/disk/mapped", kFilePages); }

/* Maps a file that is not in memory, and touches every eighth page. */
static void fault_pages_in(void) {
  const int file = open("/disk/mapped", O_RDONLY);
  check(file >= 0, "/disk/mapped");
  char* const memory = mmap(NULL, (size_t)kFilePages * kPage, PROT_READ, MAP_SHARED, file, 0);
  check(memory != MAP_FAILED && madvise(memory, (size_t)kFilePages * kPage, MADV_RANDOM) == 0,
        "mmap");
  for (int i = 0; i < kFilePages; i += 8) (void)((volatile char*)memory)[(size_t)i * kPage];
}

/* Writes a file and truncates it before the data reaches the disk. */
static void cancel_writes(void) {
  char page[kPage] = {0};
  const int file = open("/disk/taken-back", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  check(file >= 0, "/disk/taken-back");
  for (int i = 0; i < 16; ++i) check(write(file, page, kPage) == kPage, "write");
  check(ftruncate(file, 0) == 0, "ftruncate");
  close(file);
}

static void spin_on_cpu_0(void) { spin_ms(kSpinMs); }

static int rival_gate[2];

static void run_rival(void) {
  char byte;
  check(read(rival_gate[0], &byte, 1) == 1, "gate");
  spin_on_cpu_0();
}

static void prepare_rivals(void) {
  pin(0, 1);
  check(pipe(rival_gate) == 0, "pipe");
  start_thread("vm-rivals+", run_rival);
}

static void wait_for_turns(void) {
  check(write(rival_gate[1], "", 1) == 1, "gate");
  spin_on_cpu_0();
}

static void run_in_the_kernel(void) {
  for (int i = 0; i < kSystemMs; ++i) {
    const int file = open("/proc/self/status", O_RDONLY);
    char text[4096];
    for (int k = 0; k < 20; ++k) check(pread(file, text, sizeof text, 0) > 0, "status");
    close(file);
  }
}

/* Discards free blocks. io.stat counts this if the disk supports it. */
static void discard(void) {
  struct fstrim_range all = {.len = UINT64_MAX};
  const int root = open("/", O_RDONLY | O_DIRECTORY);
  check(root >= 0 && ioctl(root, FITRIM, &all) == 0, "FITRIM");
  close(root);
}

const struct Family kWaits[] = {
    {"vm-sleep", "vm/rest", NULL, sleep_long},
    {"vm-fsync", "vm/io", NULL, sync_often},
    {"vm-direct", "vm/io", prepare_direct, read_past_the_cache},
    {"vm-discard", "vm/io", NULL, discard},
    {"vm-majflt", "vm/rest", prepare_faults, fault_pages_in},
    {"vm-cancel", "vm/rest", NULL, cancel_writes},
    {"vm-rivals", "", prepare_rivals, wait_for_turns},
    {"vm-system", "vm/rest", NULL, run_in_the_kernel},
    {0},
};
