/* Programs whose problem is memory. Kinds:
 *
 *   faulter  fills a buffer of 16 MiB every 10 ms; then maps and unmaps the buffer each time
 *   mapper   reads random pages of a mapped file; then pages that are no longer in memory
 *   heap     four threads that allocate and free memory; then free half of it
 *   reclaim  reads 16 MiB of a mapped file repeatedly; then 96 MiB, more than its cgroup may use
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "troubles.h"

enum { kPageBytes = 4096, kHeapThreads = 4, kPieceBytes = 64 * 1024 };
enum { kBufferBytes = 16 << 20, kFileBytes = 96 << 20, kSmallBytes = 16 << 20 };

static char* map_buffer(void) {
  char* const buffer =
      mmap(NULL, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(buffer != MAP_FAILED, "mmap");
  madvise(buffer, kBufferBytes, MADV_NOHUGEPAGE);
  return buffer;
}

static void* fill_buffer_repeatedly(void* unused) {
  char* buffer = map_buffer();
  for (;;) {
    memset(buffer, 1, kBufferBytes);
    if (has_trouble) {
      munmap(buffer, kBufferBytes);
      buffer = map_buffer();
    }
    sleep_for(10 * kMs);
  }
  return unused;
}

static void start_faulter(void) { start(fill_buffer_repeatedly, NULL); }

static volatile char* mapped_file;
static int file;

static void map_file(void) {
  static char bytes[kBlockBytes];
  file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  check(file >= 0, path);
  for (int written = 0; written < kFileBytes; written += kBlockBytes)
    check(write(file, bytes, sizeof bytes) == sizeof bytes, "write");
  check(fsync(file) == 0, "fsync");
  mapped_file = mmap(NULL, kFileBytes, PROT_READ, MAP_SHARED, file, 0);
  check(mapped_file != MAP_FAILED, "mmap");
  madvise((void*)mapped_file, kFileBytes, MADV_RANDOM);
}

static void* read_random_pages(void* unused) {
  unsigned random = 1;
  for (;;) {
    const long page = rand_r(&random) % (kFileBytes / kPageBytes);
    (void)mapped_file[page * kPageBytes];
    if (has_trouble) madvise((void*)&mapped_file[page * kPageBytes], kPageBytes, MADV_PAGEOUT);
    if (!has_trouble) sleep_for(kMs);
  }
  return unused;
}

static void start_mapper(void) {
  map_file();
  start(read_random_pages, NULL);
}

static void remove_from_memory(void) {
  madvise((void*)mapped_file, kFileBytes, MADV_DONTNEED);
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
}

static void* use_heap(void* unused) {
  for (unsigned number = 0;; ++number) {
    char* const piece = malloc(kPieceBytes);
    check(piece != NULL, "malloc");
    memset(piece, 1, kPieceBytes);
    if (!has_trouble || number % 2 == 0) free(piece);
    sleep_for(kMs);
  }
  return unused;
}

static void start_heap(void) {
  for (int i = 0; i < kHeapThreads; ++i) start(use_heap, NULL);
}

static void read_pages(long bytes) {
  for (long at = 0; at < bytes; at += kPageBytes) (void)mapped_file[at];
}

static void* read_in_turn(void* unused) {
  for (;;) {
    read_pages(has_trouble ? kFileBytes : kSmallBytes);
    if (!has_trouble) sleep_for(10 * kMs);
  }
  return unused;
}

static void start_reclaim(void) {
  map_file();
  remove_from_memory(); /* so that the other pages are charged to the cgroup that reads them next */
  read_pages(kSmallBytes);
  start(read_in_turn, NULL);
}

const struct kind memory_kinds[] = {
    {"faulter", start_faulter, do_nothing},
    {"mapper", start_mapper, remove_from_memory},
    {"heap", start_heap, do_nothing},
    {"reclaim", start_reclaim, do_nothing},
    {NULL, NULL, NULL},
};
