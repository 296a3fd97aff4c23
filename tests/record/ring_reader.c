// ring_reader SECONDS: makes an io_uring worker wait for a pipe, and writes to the pipe 100 times a
// second.
//
// The worker is a thread of this process, and runs no user code. Exit status 77: this kernel has no
// io_uring, or does not permit it.

#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kEntries = 8, kSkipped = 77 };

struct ring {
  int fd;
  unsigned* tail;
  unsigned mask;
  unsigned* queue_entries;
  struct io_uring_sqe* entries;
};

static void* map(int fd, size_t size, off_t ring_offset) {
  void* at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, ring_offset);
  if (at == MAP_FAILED) exit(2);
  return at;
}

static struct ring make_ring(void) {
  struct io_uring_params params;
  memset(&params, 0, sizeof params);
  struct ring ring = {.fd = (int)syscall(SYS_io_uring_setup, kEntries, &params)};
  if (ring.fd < 0) exit(kSkipped);
  char* queue =
      map(ring.fd, params.sq_off.array + params.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
  ring.tail = (unsigned*)(queue + params.sq_off.tail);
  ring.mask = *(unsigned*)(queue + params.sq_off.ring_mask);
  ring.queue_entries = (unsigned*)(queue + params.sq_off.array);
  ring.entries = map(ring.fd, params.sq_entries * sizeof *ring.entries, IORING_OFF_SQES);
  return ring;
}

// Reads a byte. IOSQE_ASYNC makes a worker do it, because the read will block.
static void read_by_worker(struct ring* ring, int pipe_fd, char* buffer) {
  const unsigned entry_index = *ring->tail & ring->mask;
  struct io_uring_sqe* entry = &ring->entries[entry_index];
  memset(entry, 0, sizeof *entry);
  entry->opcode = IORING_OP_READ;
  entry->flags = IOSQE_ASYNC;
  entry->fd = pipe_fd;
  entry->addr = (unsigned long)buffer;
  entry->len = 1;
  ring->queue_entries[entry_index] = entry_index;
  __atomic_store_n(ring->tail, *ring->tail + 1, __ATOMIC_RELEASE);
  if (syscall(SYS_io_uring_enter, ring->fd, 1, 0, 0, NULL, 0) != 1) exit(kSkipped);
}

int main(int count, char** arguments) {
  const struct timespec pause = {0, 10000000};
  int pipe_ends[2];
  char byte;
  struct ring ring = make_ring();
  if (pipe(pipe_ends) != 0) return 2;
  const long rounds = (count > 1 ? atol(arguments[1]) : 1) * 100;
  for (long i = 0; i < rounds; ++i) {
    read_by_worker(&ring, pipe_ends[0], &byte);
    nanosleep(&pause, NULL);
    if (write(pipe_ends[1], "x", 1) != 1) return 2;
    syscall(SYS_io_uring_enter, ring.fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    if (i == 0) puts("ready"), fflush(stdout);
  }
  return 0;
}
